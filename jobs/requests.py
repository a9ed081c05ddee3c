"""Runs by hand: durable requests, claimed by a worker and woken by NOTIFY."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from jobs import notifier
from jobs.clock import ClockTime, ago
from jobs.declarations import registry
from jobs.errors import ManualRunRefusedError
from jobs.ledger import OpenRun, open_runs
from jobs.models import JobRun, JobState
from jobs.models.run import RunStatus, Trigger
from jobs.schedule import held
from jobs.transactions import short_transaction

CHANNEL = "job_runs"
UNTAKEN_MS = 3_600_000


@dataclass(frozen=True, kw_only=True)
class Requested:
    """The request that waits, and whether it is an earlier one."""

    run: JobRun
    coalesced: bool


def request_run(job_id: str, *, requested_by: str, reason: str = "") -> Requested:
    """
    Ask for a run by hand. While a request waits, a second one returns the first.

    Raises ``UnknownJobError``, or ``ManualRunRefusedError`` for a job that may not be forced.
    """
    declaration = registry.get(job_id)
    if not declaration.manual_run:
        raise ManualRunRefusedError(job_id)
    waiting = JobRun.objects.filter(job_id=job_id, status=RunStatus.REQUESTED, trigger="manual")
    try:
        with transaction.atomic():
            run = JobRun.objects.create(
                job_id=job_id,
                trigger=Trigger.MANUAL,
                status=RunStatus.REQUESTED,
                requested_by=requested_by[:200],
                reason=reason,
            )
    except IntegrityError:
        first = waiting.first()
        if first is None:  # it was taken between the two statements: this is a new wish
            return request_run(job_id, requested_by=requested_by, reason=reason)
        return Requested(run=first, coalesced=True)
    notifier.wake(CHANNEL)
    return Requested(run=run, coalesced=False)


def is_any_waiting() -> bool:
    """Say whether a request waits for anybody to take it."""
    return JobRun.objects.filter(status=RunStatus.REQUESTED).exists()


def take_requests(
    job_ids: Collection[str], *, singletons: Collection[str], limit: int
) -> list[OpenRun]:
    """
    Claim waiting requests of these jobs, oldest first; this process holds them from now on.

    On a singleton that is running a request waits; two of one job are taken one by one.
    """
    with short_transaction("default"):
        rows = list(
            _waiting(job_ids, singletons)
            .select_for_update(skip_locked=True)
            .order_by("id")
            .only("id", "job_id", "trigger")[: limit * 4]
        )
        taken = [_take(row) for row in _takeable(rows, singletons)[:limit]]
    for run in taken:
        open_runs.add(run)
    return taken


def close_untaken() -> int:
    """
    Close requests by hand that no worker took within an hour as ``missed``.

    Slots that catch up wait for one another, as long as that takes.
    """
    with short_transaction("default"):
        return JobRun.objects.filter(
            status=RunStatus.REQUESTED, trigger=Trigger.MANUAL, created_at__lt=ago(UNTAKEN_MS)
        ).update(
            status=RunStatus.MISSED,
            finished_at=ClockTime(),
            error="No worker took the request within an hour.",
        )


def _waiting(job_ids: Collection[str], singletons: Collection[str]) -> QuerySet[JobRun]:
    """Return the first request of each idle singleton, and all of the other jobs."""
    same = JobRun.objects.filter(job_id=OuterRef("job_id"))
    # However many slots of one job catch up, they hold up no other job.
    earlier = same.filter(status=RunStatus.REQUESTED, id__lt=OuterRef("id"))
    running = same.filter(status=RunStatus.RUNNING)
    must_wait = Q(job_id__in=list(singletons)) & (Exists(earlier) | Exists(running))
    requests = JobRun.objects.filter(status=RunStatus.REQUESTED, job_id__in=list(job_ids))
    return requests.exclude(must_wait)


def _takeable(rows: Iterable[JobRun], singletons: Collection[str]) -> list[JobRun]:
    seen: set[str] = set()
    chosen = []
    for row in rows:
        if row.job_id in singletons:
            if row.job_id in seen or not _lock_idle(row.job_id):
                continue
            seen.add(row.job_id)
        chosen.append(row)
    return chosen


def _lock_idle(job_id: str) -> bool:
    """Lock a singleton's state against its slots firing; False while a run is going on."""
    state = JobState.objects.select_for_update(skip_locked=True).filter(pk=job_id).first()
    running = JobRun.objects.filter(job_id=job_id, status=RunStatus.RUNNING)
    return state is not None and not running.exists()


def _take(row: JobRun) -> OpenRun:
    token = uuid.uuid4()
    JobRun.objects.filter(pk=row.pk).update(**held(token))
    return OpenRun(id=row.pk, job_id=row.job_id, token=token, trigger=Trigger(row.trigger))
