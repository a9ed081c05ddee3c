"""Workers: the processes, as they last said of themselves."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.dateparse import parse_datetime

from jobs.clock import Now
from jobs.models import Worker
from jobs.reads.links import admin_url

ALIVE_WITHIN = dt.timedelta(seconds=60)
WORKERS_LISTED = 500


@dataclass(frozen=True, kw_only=True)
class LoopItem:
    """One loop of a worker."""

    job_id: str
    state: str
    ticked_at: dt.datetime | None


@dataclass(frozen=True, kw_only=True)
class WorkerItem:
    """One process."""

    id: str
    host: str
    pid: int
    version: str
    started_at: dt.datetime
    heartbeat_at: dt.datetime
    stopped_at: dt.datetime | None
    is_alive: bool  # not stopped, and a heartbeat within the last 60 s
    draining: bool
    listen: str
    claims_held: int
    claim_stale_ms: int
    loops: tuple[LoopItem, ...]
    read_at: dt.datetime  # the database's time of this answer
    admin_url: str


def list_workers() -> tuple[WorkerItem, ...]:
    """Return the processes, the last started first."""
    return tuple(worker_item(row) for row in worker_rows()[:WORKERS_LISTED])


def get_worker(name: str) -> WorkerItem | None:
    """Return one process; None when there is none of that name."""
    row = worker_rows().filter(pk=name).first()
    return None if row is None else worker_item(row)


def count_alive() -> int:
    """Return how many processes are alive by the database's clock."""
    return Worker.objects.filter(stopped_at=None, heartbeat_at__gt=Now() - ALIVE_WITHIN).count()


def worker_rows() -> QuerySet[Worker]:
    """Return the processes with the database's time, the last started first."""
    return Worker.objects.annotate(read_at=Now()).order_by("-started_at", "-name")


def worker_item(row: Any) -> WorkerItem:
    """Return a row of ``worker_rows`` as a value."""
    copied = (
        "host", "pid", "version", "started_at", "heartbeat_at", "stopped_at", "draining",
        "listen", "claims_held", "claim_stale_ms", "read_at",
    )  # fmt: skip
    return WorkerItem(
        id=row.name,
        **{name: getattr(row, name) for name in copied},
        is_alive=row.stopped_at is None and row.read_at - row.heartbeat_at < ALIVE_WITHIN,
        loops=tuple(_loop(job_id, row.loops[job_id]) for job_id in sorted(row.loops)),
        admin_url=admin_url(Worker, row.name),
    )


def _loop(job_id: str, said: Any) -> LoopItem:
    # Another version of the code may have written it: what is missing stays empty.
    facts = said if isinstance(said, dict) else {}
    return LoopItem(
        job_id=job_id,
        state=str(facts.get("state", "")),
        ticked_at=_instant(facts.get("ticked_at")),
    )


def _instant(text: object) -> dt.datetime | None:
    try:
        found = parse_datetime(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=dt.UTC)
