"""Runs: the ledger as lists and as one run with everything that is known of it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.db.models import F, QuerySet
from django.db.models.functions import Left

from jobs.clock import Now
from jobs.models import JobRun
from jobs.models.run import RunStatus, Trigger
from jobs.reads.activity import ActivityItem, list_activity
from jobs.reads.links import admin_url
from jobs.reads.paging import PAGE_LIMIT, Page, read_page
from jobs.reads.since import since_filter

BODIES = ("stdout", "error", "output", "returned")
HEAD_LENGTH = 300
LOG_LINES = 200


@dataclass(frozen=True, kw_only=True)
class RunItem:
    """One run, as a line of a list."""

    id: int
    job_id: str
    trigger: str
    status: str
    requested_by: str
    reason: str
    scheduled_for: dt.datetime | None
    created_at: dt.datetime
    started_at: dt.datetime | None
    finished_at: dt.datetime | None
    seconds: float | None  # how long it took, or takes so far
    claimed_by: str
    passes: int
    count: int
    progress_done: int | None
    progress_total: int | None
    error_head: str  # the error's first line
    read_at: dt.datetime  # the database's time of this answer
    admin_url: str


@dataclass(frozen=True, kw_only=True)
class RunDetail(RunItem):
    """One run with its bodies, its log lines and its neighbours."""

    lease_expires_at: dt.datetime | None
    cancel_requested_at: dt.datetime | None
    error: str
    output: Any
    returned: Any
    stdout: str
    log: Page[ActivityItem]
    previous_id: int | None  # of the same job
    next_id: int | None


def list_runs(
    *,
    job_id: str = "",
    status: str = "",
    trigger: str = "",
    since: dt.timedelta | None = None,
    limit: int = PAGE_LIMIT,
    before_id: int | None = None,
) -> Page[RunItem]:
    """Return runs, newest first; each argument narrows the list."""
    rows = narrow_runs(run_rows(), job_id=job_id, status=status, trigger=trigger, since=since)
    return read_page(rows, run_item, limit=limit, before_id=before_id)


def get_run(run_id: int) -> RunDetail | None:
    """Return a run with everything of its row; None when the ledger has none of that id."""
    row = JobRun.objects.annotate(**_read_columns()).filter(pk=run_id).first()
    return None if row is None else _detail(row)


def run_rows() -> QuerySet[JobRun]:
    """Return the rows of lists: no bodies, but the error's head and the database's time."""
    return JobRun.objects.defer(*BODIES).annotate(**_read_columns())


def narrow_runs(
    rows: QuerySet[JobRun],
    *,
    job_id: str = "",
    status: str = "",
    trigger: str = "",
    since: dt.timedelta | None = None,
) -> QuerySet[JobRun]:
    """Apply the filters that lists, commands and tools have in common."""
    if job_id:
        rows = rows.filter(job_id=job_id)
    if status:
        rows = rows.filter(status=RunStatus(status))
    if trigger:
        rows = rows.filter(trigger=Trigger(trigger))
    return since_filter(rows, "created_at", since)


def run_item(row: Any) -> RunItem:
    """Return a row of ``run_rows`` as a value."""
    return RunItem(**_fields(row))


def _read_columns() -> dict[str, Any]:
    return {"error_start": Left(F("error"), HEAD_LENGTH), "read_at": Now()}


def _fields(row: Any) -> dict[str, Any]:
    copied = (
        "id", "job_id", "trigger", "status", "requested_by", "reason", "scheduled_for",
        "created_at", "started_at", "finished_at", "claimed_by", "passes", "count",
        "progress_done", "progress_total", "read_at",
    )  # fmt: skip
    return {
        **{name: getattr(row, name) for name in copied},
        "seconds": run_seconds(row),
        "error_head": row.error_start.partition("\n")[0],
        "admin_url": admin_url(JobRun, row.pk),
    }


def run_seconds(row: Any) -> float | None:
    """Return how long a run of ``run_rows`` took, or takes so far."""
    if row.started_at is None:
        return None
    still_runs = row.status == RunStatus.RUNNING
    end = row.finished_at or (row.read_at if still_runs else None)
    return None if end is None else float((end - row.started_at).total_seconds())


def _detail(row: Any) -> RunDetail:
    same_job = JobRun.objects.filter(job_id=row.job_id).values_list("pk", flat=True)
    return RunDetail(
        **_fields(row),
        lease_expires_at=row.lease_expires_at,
        cancel_requested_at=row.cancel_requested_at,
        error=row.error,
        output=row.output,
        returned=row.returned,
        stdout=row.stdout,
        log=list_activity(run_id=row.pk, limit=LOG_LINES),
        previous_id=same_job.filter(pk__lt=row.pk).order_by("-pk").first(),
        next_id=same_job.filter(pk__gt=row.pk).order_by("pk").first(),
    )
