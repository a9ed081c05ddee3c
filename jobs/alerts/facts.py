"""What the alert rules look at: plain values, read by ``jobs.alerts.snapshot``."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from jobs.cadence import Cadence
from jobs.models.run import RunStatus

# A run that began by its schedule and ended in one of these has failed.
FAILURES = frozenset({RunStatus.FAILED, RunStatus.LOST, RunStatus.INTERRUPTED})
# An idle pass moves a queue worker's tick at most once in this time.
TICK_PRECISION = dt.timedelta(seconds=10)


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """One row of the ledger."""

    id: int
    status: str
    slot: dt.datetime | None = None
    started_at: dt.datetime | None = None
    finished_at: dt.datetime | None = None


@dataclass(frozen=True, kw_only=True)
class JobFacts:
    """A declared job, what is known of it between its runs, and its last scheduled runs."""

    id: str
    cadence: Cadence | None  # None: it cannot be read
    trouble: str = ""  # why not
    singleton: bool = True
    is_paused: bool = False
    first_seen_at: dt.datetime | None = None
    accounted_until: dt.datetime | None = None
    next_due_at: dt.datetime | None = None
    last_tick_at: dt.datetime | None = None
    ended: tuple[RunFacts, ...] = ()  # scheduled runs that have ended, newest first
    slots: tuple[RunFacts, ...] = ()  # what became of the last slots, newest first

    @property
    def failures(self) -> tuple[RunFacts, ...]:
        """
        The scheduled failures since the last success, newest first.

        A queue worker's idle passes write no row: its last tick stands for them. The tick is
        as exact as it is written, so that a failure within ten seconds of it proves nothing.
        """
        found = []
        for run in self.ended:
            if run.status not in FAILURES or self._is_cleared(run):
                break
            found.append(run)
        return tuple(found)

    @property
    def last_success_at(self) -> dt.datetime | None:
        """When a scheduled run last succeeded, as far back as was read."""
        ends = [run.finished_at for run in self.ended if run.status == RunStatus.SUCCEEDED]
        ticks = [] if self.singleton else [self.last_tick_at]
        return max((at for at in (*ends, *ticks) if at is not None), default=None)

    @property
    def last_start_at(self) -> dt.datetime | None:
        """When a scheduled run last started, or a queue worker last ticked."""
        starts = [run.started_at for run in (*self.ended, *self.slots)]
        ticks = [] if self.singleton else [self.last_tick_at]
        return max((at for at in (*starts, *ticks) if at is not None), default=None)

    def _is_cleared(self, run: RunFacts) -> bool:
        if self.singleton or self.last_tick_at is None:
            return False
        ended = run.finished_at or run.started_at
        return ended is None or ended <= self.last_tick_at + TICK_PRECISION


@dataclass(frozen=True, kw_only=True)
class WorkerFacts:
    """One process, as it last said of itself."""

    name: str
    started_at: dt.datetime
    heartbeat_at: dt.datetime
    claim_stale_ms: int = 0
    is_stopped: bool = False  # it ended on purpose


@dataclass(frozen=True, kw_only=True)
class DeadLetterFacts:
    """How many rows of a queue will never be retried by themselves."""

    queue: str
    count: int
    threshold: int = 1
    is_capped: bool = False  # there are more
    is_paused: bool = False
    job_id: str = ""


@dataclass(frozen=True, kw_only=True)
class StallFacts:
    """What is in work on a queue, and when something last came of it."""

    queue: str
    processing: int
    in_work_since: dt.datetime | None = None  # of the row that is longest in work
    finished_at: dt.datetime | None = None  # the newest pass that finished rows
    moved_at: dt.datetime | None = None  # the last change of what a pass going on reports
    is_paused: bool = False
    job_id: str = ""


@dataclass(frozen=True, kw_only=True)
class BackupFacts:
    """How old the newest backup is that was read back, and how old it may be."""

    subject: str
    newest_verified_at: dt.datetime | None
    rpo_hours: float
    is_enabled: bool = True
    is_paused: bool = False
