"""Which run a person means who wants one cancelled."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.models import JobRun
from jobs.models.run import RunStatus
from jobs.output.errors import NothingRunsError, SeveralRunsError
from jobs.output.known import refuse_unknown_job
from jobs.output.options import parse_id
from jobs.output.waiting import look_at
from jobs.output.words import progress_words, took
from jobs.reads.bounded import bounded
from jobs.reads.runs import RunItem
from jobs.verbs.runs import cancellable

NAMED = 10


@dataclass(frozen=True, kw_only=True)
class CancelPreview:
    """What would be cancelled, and nothing is."""

    run_id: int
    job_id: str
    status: str
    dry_run: bool
    admin_url: str


def run_to_cancel(wanted: str) -> RunItem:
    """
    Return the run of that id, or of a job's id the one that runs, or else waits.

    Raises what ``cancel_run`` raises, ``NothingRunsError`` or ``SeveralRunsError``.
    """
    number = parse_id(wanted)
    with bounded():
        run_id = _run_of_job(wanted) if number is None else number
        cancellable(run_id)
    return look_at(run_id)


def preview_of(run: RunItem) -> CancelPreview:
    """Return what cancelling the run would act on."""
    return CancelPreview(
        run_id=run.id, job_id=run.job_id, status=run.status, dry_run=True, admin_url=run.admin_url
    )


def cancel_words(run: RunItem) -> str:
    """Return the run as a question and a preview name it."""
    details = [
        f"running for {took(run.seconds)}" if run.seconds is not None else "not begun",
        progress_words(run),
    ]
    return f"run {run.id} of {run.job_id} ({', '.join(part for part in details if part)})"


def _run_of_job(job_id: str) -> int:
    refuse_unknown_job(job_id)
    rows = JobRun.objects.filter(job_id=job_id).order_by("-pk").values_list("pk", flat=True)
    for status in (RunStatus.RUNNING, RunStatus.REQUESTED):
        found = list(rows.filter(status=status)[:NAMED])
        if len(found) > 1:
            raise SeveralRunsError(job_id, found)
        if found:
            return found[0]
    raise NothingRunsError(job_id)
