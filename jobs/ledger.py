"""
The ledger: every write to ``job_runs`` and ``job_states``.

A run that is going on is held by a token and a lease, like a claimed row: a late write of a
worker that lost it changes nothing.
"""

from __future__ import annotations

import datetime as dt
import logging
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError
from django.db.models import F

from jobs import conf
from jobs.clock import ClockTime, Now, from_now
from jobs.failure import storable
from jobs.identity import process_name
from jobs.models import JobRun, JobState
from jobs.models.run import RunStatus, Trigger
from jobs.transactions import short_transaction

logger = logging.getLogger(__name__)
TEXT_LIMIT = 64 * 1024
TICK_SECONDS = 10


@dataclass(kw_only=True, eq=False)
class OpenRun:
    """A run of this process that is going on."""

    id: int
    job_id: str
    token: uuid.UUID
    trigger: Trigger
    cancel: Callable[[], object] = lambda: None

    def close(self, status: RunStatus, **fields: Any) -> bool:
        """End the run; False when it was lost meanwhile."""
        open_runs.discard(self)
        ended = {"lease_expires_at": None, "finished_at": ClockTime(), "status": status}
        changed = self.write(**(ended | fields))
        if not changed:
            logger.warning("stale_completion_rejected queue=job_runs id=%s", self.id)
        return changed

    def give_back(self) -> bool:
        """Make a request that was taken and has not begun wait again."""
        open_runs.discard(self)
        free = {"started_at": None, "claimed_by": "", "claim_token": None}
        try:
            return self.write(status=RunStatus.REQUESTED, lease_expires_at=None, **free)
        except IntegrityError:  # a later request waits already
            return self.close(RunStatus.CANCELLED, error="A later request runs in its place.")

    def write(self, **fields: Any) -> bool:
        """Write columns of the run while it is still this process's."""
        with short_transaction("default"):
            mine = JobRun.objects.filter(pk=self.id, claim_token=self.token, status="running")
            return bool(mine.update(**fields))


@dataclass(kw_only=True)
class OpenRuns:
    """The runs that this process holds, whose leases its heartbeat moves forward."""

    runs: dict[int, OpenRun] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, run: OpenRun) -> None:
        with self._lock:
            self.runs[run.id] = run

    def discard(self, run: OpenRun) -> None:
        with self._lock:
            self.runs.pop(run.id, None)

    def heartbeat(self) -> None:
        """Move the leases forward, and tell each run that is to be cancelled."""
        with self._lock:
            held = list(self.runs.values())
        if not held:
            return
        mine = JobRun.objects.filter(
            pk__in=[run.id for run in held],
            claim_token__in=[run.token for run in held],
            status="running",
        )
        with short_transaction("default"):
            mine.update(lease_expires_at=from_now(conf.JOB_LEASE_MS.get()))
            states = dict(mine.values_list("pk", "cancel_requested_at"))
        for run in held:
            if states.get(run.id, True) is not None:
                # An operator wants it to end, or it was lost to somebody who closed it.
                run.cancel()


open_runs = OpenRuns()


def open_run(
    job_id: str, trigger: Trigger, *, slot: dt.datetime | None = None, age_seconds: float = 0.0
) -> OpenRun:
    """Insert a run that is going on, since so many seconds."""
    token = uuid.uuid4()
    with short_transaction("default"):
        row = JobRun.objects.create(
            job_id=job_id,
            trigger=trigger,
            status=RunStatus.RUNNING,
            scheduled_for=slot,
            started_at=ago_from_clock(age_seconds),
            claimed_by=process_name(),
            claim_token=token,
            lease_expires_at=from_now(conf.JOB_LEASE_MS.get()),
        )
    run = OpenRun(id=row.pk, job_id=job_id, token=token, trigger=trigger)
    open_runs.add(run)
    return run


def record_run(
    job_id: str, trigger: Trigger, status: RunStatus, *, age_seconds: float, **fields: Any
) -> JobRun:
    """Insert a run that has ended and lasted so many seconds."""
    with short_transaction("default"):
        return JobRun.objects.create(
            job_id=job_id,
            trigger=trigger,
            status=status,
            started_at=ago_from_clock(age_seconds),
            finished_at=ClockTime(),
            claimed_by=process_name(),
            claim_token=uuid.uuid4(),
            **fields,
        )


def fold_into(run_id: int, token: uuid.UUID, output: dict[str, int]) -> bool:
    """Add one more short pass to a run that has ended; ``output`` is the new sum."""
    with short_transaction("default"):
        changed = JobRun.objects.filter(pk=run_id, claim_token=token, status="succeeded").update(
            passes=F("passes") + 1, finished_at=ClockTime(), output=output
        )
    return bool(changed)


def close_lost() -> list[JobRun]:
    """Close runs whose lease ran out as ``lost``; whoever notices does it."""
    expired = JobRun.objects.filter(status="running", lease_expires_at__lt=Now())
    with short_transaction("default"):
        runs = list(expired.select_for_update(skip_locked=True).only("id", "job_id")[:100])
        if runs:
            JobRun.objects.filter(pk__in=[run.pk for run in runs]).update(
                status=RunStatus.LOST,
                lease_expires_at=None,
                finished_at=ClockTime(),
                error="The worker died or stopped answering; its lease ran out.",
            )
    for run in runs:
        logger.warning("run_lost job=%s run=%s", run.job_id, run.pk)
    return runs


class TickRecorder:
    """Moves a job's ``last_tick_at`` and idle counter, at most once in ten seconds."""

    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        self._idle = 0
        self._written_at = float("-inf")

    def tick(self, *, idle: bool) -> None:
        """Count a pass; write when the last write is old enough."""
        self._idle += idle
        if time.monotonic() - self._written_at < TICK_SECONDS:
            return
        with short_transaction("default"):
            changed = JobState.objects.filter(pk=self.job_id).update(
                last_tick_at=ClockTime(), idle_passes=F("idle_passes") + self._idle
            )
            if not changed:
                JobState.objects.bulk_create([JobState(job_id=self.job_id)], ignore_conflicts=True)
                JobState.objects.filter(pk=self.job_id).update(
                    last_tick_at=ClockTime(), idle_passes=F("idle_passes") + self._idle
                )
        self._idle = 0
        self._written_at = time.monotonic()


def lease_seconds() -> float:
    """Return how long a run may go without a heartbeat."""
    return conf.JOB_LEASE_MS.get() / 1000


def ago_from_clock(seconds: float) -> Any:
    """Return the instant so many seconds before the database's clock."""
    return ClockTime() if seconds <= 0 else from_now(-seconds * 1000)


def bounded(text: str) -> str:
    """Return the last 64 KB of a text, as PostgreSQL can hold it."""
    return storable(text)[-TEXT_LIMIT:]


__all__ = [
    "OpenRun",
    "TickRecorder",
    "bounded",
    "close_lost",
    "fold_into",
    "open_run",
    "open_runs",
    "record_run",
]
