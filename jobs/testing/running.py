"""Running jobs in the calling thread, as a worker would."""

from __future__ import annotations

from typing import Any

from django.db.models import Model

from jobs import ledger
from jobs.capture import route_prints
from jobs.claims import ClaimPolicy
from jobs.context import RunContext
from jobs.declarations import JobDeclaration, registry
from jobs.models import JobRun
from jobs.models.run import Trigger
from jobs.runner import PassRunner
from jobs.singletons import SingletonRun


def run_once(job_id: str, *, trigger: Trigger = Trigger.SCHEDULE) -> JobRun | None:
    """
    Run a job once and return its row of the ledger.

    None for a pass of a queue worker that found nothing, which writes no row. A failure is
    in the row's ``error`` and not raised, as in a worker.
    """
    declaration = registry.get(job_id)
    newest = JobRun.objects.filter(job_id=job_id).order_by("-id")
    before = newest.values_list("pk", flat=True).first() or 0
    context = RunContext(declaration=declaration, trigger=trigger)
    if declaration.singleton:
        route_prints()
        SingletonRun(context, ledger.open_run(job_id, trigger)).execute()
    else:
        PassRunner(declaration).run(context)
    return newest.filter(pk__gt=before).first()


def drain(queue: type[Model] | str, *, passes: int = 100) -> int:
    """
    Work on a queue until nothing is due; return how many rows were claimed.

    ``queue`` is the model or the job's id. Raises ``RuntimeError`` when rows are still due
    after so many passes, such as rows that are retried at once for ever.
    """
    declaration = _declaration_of(queue)
    claimed = 0
    for _ in range(passes):
        context = RunContext(declaration=declaration, trigger=Trigger.SCHEDULE)
        if not PassRunner(declaration).run(context):
            return claimed
        claimed += context.counts["claimed"]
    raise RuntimeError(f"{declaration.id} still finds work after {passes} passes.")


def _declaration_of(queue: type[Model] | str) -> JobDeclaration:
    if isinstance(queue, str):
        return registry.get(queue)
    for declaration in registry:
        if declaration.policy is not None and _policy(declaration).model is queue:
            return declaration
    raise LookupError(f"No job declares {queue.__name__} as its queue.")


def _policy(declaration: JobDeclaration) -> ClaimPolicy:
    policy: Any = declaration.policy
    found = policy()
    assert isinstance(found, ClaimPolicy)
    return found
