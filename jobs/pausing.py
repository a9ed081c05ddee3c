"""Pausing and resuming a job, and asking a running singleton to end."""

from __future__ import annotations

from jobs import notifier
from jobs.clock import ClockTime
from jobs.declarations import JobDeclaration
from jobs.models import JobRun, JobState
from jobs.models.run import RunStatus
from jobs.schedule import database_now
from jobs.transactions import short_transaction

CHANNEL = "job_states"


def pause(job_id: str, *, actor: str, reason: str) -> bool:
    """
    Pause a job; False when it is paused already. In the caller's transaction if it has one.

    A run that goes on ends by itself; slots that wait to catch up become ``missed``.
    """
    with short_transaction("default"):
        JobState.objects.bulk_create([JobState(job_id=job_id)], ignore_conflicts=True)
        changed = JobState.objects.filter(pk=job_id, paused_at__isnull=True).update(
            paused_at=ClockTime(), paused_by=actor[:200], pause_reason=reason
        )
        if changed:
            _close_waiting_slots(job_id)
        notifier.wake(CHANNEL)
    return bool(changed)


def resume(declaration: JobDeclaration) -> bool:
    """Resume a job; slots of the pause never run. False when it is not paused."""
    with short_transaction("default"):
        now = database_now()
        changed = JobState.objects.filter(pk=declaration.id, paused_at__isnull=False).update(
            paused_at=None,
            paused_by="",
            pause_reason="",
            accounted_until=now,
            next_due_at=declaration.cadence.next_after(now) if declaration.singleton else None,
        )
        notifier.wake(CHANNEL)
    return bool(changed)


def request_cancel(run_id: int) -> bool:
    """
    Ask a run to end; it sees ``should_stop()`` within a heartbeat. A request that no worker
    has taken is cancelled at once. False when there is nothing to cancel.
    """
    with short_transaction("default"):
        waiting = JobRun.objects.filter(pk=run_id, status=RunStatus.REQUESTED)
        if waiting.update(
            status=RunStatus.CANCELLED, finished_at=ClockTime(), error="Cancelled before it began."
        ):
            return True
        going_on = JobRun.objects.filter(
            pk=run_id, status=RunStatus.RUNNING, cancel_requested_at__isnull=True
        )
        return bool(going_on.update(cancel_requested_at=ClockTime()))


def _close_waiting_slots(job_id: str) -> None:
    waiting = JobRun.objects.filter(
        job_id=job_id, status=RunStatus.REQUESTED, scheduled_for__isnull=False
    )
    waiting.update(
        status=RunStatus.MISSED, finished_at=ClockTime(), error="The job was paused before it ran."
    )
