"""Cancelling a run."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.audit import record
from jobs.declarations import registry
from jobs.models import JobRun
from jobs.models.audit import Via
from jobs.models.run import RunStatus
from jobs.pausing import request_cancel
from jobs.reads.links import admin_url
from jobs.transactions import short_transaction
from jobs.verbs.actors import Actor, as_user
from jobs.verbs.errors import QueuePassError, RunEndedError, UnknownRunError
from jobs.verbs.targets import kept_reason, run_target
from jobs.verbs.verb import verb


@dataclass(frozen=True, kw_only=True)
class CancelAnswer:
    """How a run is after being cancelled."""

    run_id: int
    job_id: str
    status: str  # cancelled; running: it sees the wish within a heartbeat and ends itself
    changed: bool  # False: it was cancelled before
    admin_url: str


@verb("cancel", permission="jobs.cancel_job")
def cancel_run(run_id: int, *, actor: Actor, via: Via, reason: str = "") -> CancelAnswer:
    """
    Cancel a request that waits, or ask a running singleton to end.

    Raises ``UnknownRunError``, ``RunEndedError``, or ``QueuePassError``.
    """
    with short_transaction("default"):
        # Locked, so that what is judged here is what is cancelled below.
        run = cancellable(run_id, lock=True)
        changed = run.status != RunStatus.CANCELLED and request_cancel(run_id)
        if changed:
            record(
                actor=as_user(actor),
                via=via,
                verb=cancel_run.name,
                target=run_target(run_id),
                reason=kept_reason(reason),
                detail={"job_id": run.job_id, "status": run.status},
            )
    going_on = run.status == RunStatus.RUNNING
    return CancelAnswer(
        run_id=run_id,
        job_id=run.job_id,
        status=str(RunStatus.RUNNING if going_on else RunStatus.CANCELLED),
        changed=changed,
        admin_url=admin_url(JobRun, run_id),
    )


def cancellable(run_id: int, *, lock: bool = False) -> JobRun:
    """Return a run that can be cancelled or is; raise what ``cancel_run`` raises."""
    rows = JobRun.objects.select_for_update() if lock else JobRun.objects.all()
    run = rows.only("id", "job_id", "status").filter(pk=run_id).first()
    if run is None:
        raise UnknownRunError(run_id)
    match run.status:
        case RunStatus.REQUESTED | RunStatus.CANCELLED:
            return run
        case RunStatus.RUNNING:
            job = registry.find(run.job_id)
            if job is not None and not job.singleton:
                raise QueuePassError(run_id, run.job_id)
            return run
    raise RunEndedError(run_id, run.job_id, run.status)
