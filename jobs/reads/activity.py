"""Activity: the shared log stream."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from jobs.clock import Now
from jobs.models import ActivityLog
from jobs.models.activity import LogLevel, LogSource
from jobs.reads.links import admin_url
from jobs.reads.paging import PAGE_LIMIT, Page, read_page
from jobs.reads.since import since_filter


@dataclass(frozen=True, kw_only=True)
class ActivityItem:
    """One line of the stream."""

    id: int
    at: dt.datetime
    source: str
    level: str
    message: str
    context: Any
    job_id: str
    run_id: int | None
    read_at: dt.datetime  # the database's time of this answer
    admin_url: str


def list_activity(
    *,
    source: str = "",
    level: str = "",
    job_id: str = "",
    run_id: int | None = None,
    since: dt.timedelta | None = None,
    limit: int = PAGE_LIMIT,
    before_id: int | None = None,
) -> Page[ActivityItem]:
    """Return lines, newest first; each argument narrows the list."""
    rows = since_filter(activity_rows(), "at", since)
    if source:
        rows = rows.filter(source=LogSource(source))
    if level:
        rows = rows.filter(level=LogLevel(level))
    if job_id:
        rows = rows.filter(job_id=job_id)
    if run_id is not None:
        rows = rows.filter(run_id=run_id)
    return read_page(rows, activity_item, limit=limit, before_id=before_id)


def get_activity(line_id: int) -> ActivityItem | None:
    """Return one line; None when there is none of that id."""
    row = activity_rows().filter(pk=line_id).first()
    return None if row is None else activity_item(row)


def activity_rows() -> QuerySet[ActivityLog]:
    """Return the stream with the database's time."""
    return ActivityLog.objects.annotate(read_at=Now())


def activity_item(row: Any) -> ActivityItem:
    """Return a row of ``activity_rows`` as a value."""
    copied = ("id", "at", "source", "level", "message", "context", "job_id", "run_id", "read_at")
    return ActivityItem(
        **{name: getattr(row, name) for name in copied}, admin_url=admin_url(ActivityLog, row.pk)
    )
