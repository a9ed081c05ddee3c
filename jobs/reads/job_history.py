"""What the ledger says of jobs, under a time limit of its own."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs.alerts.snapshot import RUNS_READ, SLOTS_READ
from jobs.alerts.statements import fetch
from jobs.models import JobRun
from jobs.models.run import RunStatus, Trigger
from jobs.reads.bounded import bounded
from jobs.reads.errors import SlowReadError
from jobs.reads.links import admin_url

HISTORY_LIMIT_MS = 1000
STRIP_RUNS = 20
DURATION_RUNS = 1000
DURATIONS = ("p50_seconds", "p95_seconds", "longest_seconds")
DURATION_DAYS = dt.timedelta(days=30)
# A row of these is a slot that did not run, or a run that has not begun.
NOT_RUN = frozenset({RunStatus.REQUESTED, RunStatus.SKIPPED, RunStatus.MISSED})


@dataclass(frozen=True, kw_only=True)
class StripRun:
    """One mark of a job's strip of last runs."""

    id: int
    status: str
    trigger: str
    seconds: float | None
    scheduled_for: dt.datetime | None
    started_at: dt.datetime | None
    finished_at: dt.datetime | None
    is_manual: bool
    count: int  # slots that it stands for
    passes: int
    admin_url: str


@dataclass(frozen=True, kw_only=True)
class History:
    """What the ledger says; None in ``last_runs`` when it was too slow."""

    scheduled: Sequence[dict[str, Any]] = ()
    last_runs: dict[str, tuple[StripRun, ...]] | None = None
    # Of one job only: its median, 95th percentile and longest, in seconds.
    durations: Mapping[str, Any] = field(default_factory=lambda: dict.fromkeys(DURATIONS))

    @property
    def is_slow(self) -> bool:
        """Whether it could not be read in time."""
        return self.last_runs is None


def read_history(ids: list[str], *, limit_ms: int = HISTORY_LIMIT_MS) -> History:
    """Return the last runs of these jobs; a slow history when it takes longer."""
    try:
        with bounded(milliseconds=limit_ms):
            scheduled = _scheduled(ids)
            rows = fetch("last_runs", {"job_ids": ids, "limit": STRIP_RUNS})
    except SlowReadError:
        return History()
    strips: dict[str, list[StripRun]] = defaultdict(list)
    for row in rows:
        strips[row["job_id"]].append(_strip_run(row))
    return History(
        scheduled=scheduled, last_runs={job_id: tuple(runs) for job_id, runs in strips.items()}
    )


def read_job_history(
    job_id: str, *, now: dt.datetime, runs: int = STRIP_RUNS, limit_ms: int = HISTORY_LIMIT_MS
) -> History:
    """Return so many last runs of a job, and how long its runs take."""
    wanted = {
        "job_id": job_id,
        "limit": runs,
        "looked_through": DURATION_RUNS,
        "since": now - DURATION_DAYS,
    }
    try:
        with bounded(milliseconds=limit_ms):
            scheduled = _scheduled([job_id])
            rows = fetch("runs_of_job", wanted)
    except SlowReadError:
        return History()
    return History(
        scheduled=scheduled,
        last_runs={job_id: tuple(_strip_run(row) for row in rows if row["id"] is not None)},
        durations={name: rows[0][name] for name in DURATIONS},
    )


def _scheduled(ids: list[str]) -> list[dict[str, Any]]:
    return fetch("scheduled_runs", {"job_ids": ids, "ended": RUNS_READ, "slots": SLOTS_READ})


def _strip_run(row: dict[str, Any]) -> StripRun:
    seconds = None
    if row["started_at"] and row["finished_at"]:
        seconds = (row["finished_at"] - row["started_at"]).total_seconds()
    return StripRun(
        id=row["id"],
        status=row["status"],
        trigger=row["trigger"],
        seconds=seconds,
        scheduled_for=row["scheduled_for"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        is_manual=row["trigger"] == Trigger.MANUAL,
        count=row["count"],
        passes=row["passes"],
        admin_url=admin_url(JobRun, row["id"]),
    )
