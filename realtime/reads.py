"""
The outbox, as lists, as one event, and in figures.

Pages, commands and tools call these functions and show the same field names.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Left

from jobs.clock import Now
from jobs.reads.links import admin_url
from jobs.reads.paging import PAGE_LIMIT, Page, read_page
from realtime.models import OutboxEvent, OutboxStatus
from realtime.policy import outbox_policy
from realtime.statements import statement

ERROR_HEAD = 300
RETRYING = "retrying"
DEAD = "dead"
DEAD_LETTERS = Q(status=OutboxStatus.FAILED, next_retry_at__isnull=True)
# What a list can be narrowed to. Each has a partial index, or is most of the table.
STATES: Mapping[str, Q] = {
    # Both arms by name: each has an index of its own, their union has none.
    OutboxStatus.PENDING: Q(status=OutboxStatus.PENDING, next_retry_at__isnull=True)
    | Q(status=OutboxStatus.PENDING, next_retry_at__isnull=False),
    OutboxStatus.PROCESSING: Q(status=OutboxStatus.PROCESSING),
    RETRYING: Q(status=OutboxStatus.FAILED, next_retry_at__isnull=False),
    DEAD: DEAD_LETTERS,
    OutboxStatus.COMPLETED: Q(status=OutboxStatus.COMPLETED),
}


@dataclass(frozen=True, kw_only=True)
class EventItem:
    """One event, as a line of a list."""

    id: int
    topic: str
    event: str
    mode: str  # of its audience
    ordering_key: str | None
    status: str
    state: str  # the status in an operator's words: also retrying, dead
    attempts: int
    max_attempts: int
    error_head: str
    next_retry_at: dt.datetime | None
    created_at: dt.datetime
    finished_at: dt.datetime | None
    read_at: dt.datetime  # the database's time of this answer
    admin_url: str


@dataclass(frozen=True, kw_only=True)
class EventDetail(EventItem):
    """One event with what it is about."""

    audience: Mapping[str, Any]
    payload: Any
    last_error: str
    claimed_by: str
    lease_expires_at: dt.datetime | None
    stale_recoveries: int
    waits_for: int | None  # the unfinished event of its key that comes first


@dataclass(frozen=True, kw_only=True)
class OutboxStats:
    """The outbox in figures, up to 10,000 of each."""

    pending: int
    processing: int
    retrying: int
    dead: int
    is_capped: bool  # one of them is more
    oldest_pending_at: dt.datetime | None
    completed_last_hour: int
    sessions: int  # sockets that are connected
    read_at: dt.datetime


def list_events(
    *, state: str = "", topic: str = "", limit: int = PAGE_LIMIT, before_id: int | None = None
) -> Page[EventItem]:
    """Return events, newest first; ``state`` is a key of ``STATES``."""
    rows = event_rows()
    if state:
        rows = rows.filter(STATES[state])
    if topic:
        rows = rows.filter(topic=topic)
    return read_page(rows, event_item, limit=limit, before_id=before_id)


def get_event(event_id: int) -> EventDetail | None:
    """Return one event; None when there is none of that id."""
    row: Any = OutboxEvent.objects.annotate(**_read_columns()).filter(pk=event_id).first()
    return None if row is None else _detail(row)


def get_stats() -> OutboxStats:
    """Return the outbox in figures."""
    with connection.cursor() as cursor:
        cursor.execute(statement("outbox_stats"))
        names = [column.name for column in cursor.description or ()]
        return OutboxStats(**dict(zip(names, cursor.fetchone() or (), strict=True)))


def event_rows() -> QuerySet[OutboxEvent]:
    """Return the rows of lists: without payloads, which can be a megabyte."""
    rows = OutboxEvent.objects.defer("payload", "audience", "last_error")
    return rows.annotate(**_read_columns())


def event_item(row: Any) -> EventItem:
    """Return a row of ``event_rows`` as a value."""
    return EventItem(**_fields(row))


def state_of(row: OutboxEvent) -> str:
    """Return an event's status in an operator's words."""
    if row.status == OutboxStatus.FAILED:
        return DEAD if row.next_retry_at is None else RETRYING
    return str(row.status)


def _read_columns() -> dict[str, Any]:
    return {
        "audience_mode": KeyTextTransform("mode", "audience"),
        "error_start": Left("last_error", ERROR_HEAD),
        "read_at": Now(),
    }


def _fields(row: Any) -> dict[str, Any]:
    copied = (
        "id", "topic", "event", "ordering_key", "status", "attempts", "next_retry_at",
        "created_at", "finished_at", "read_at",
    )  # fmt: skip
    return {
        **{name: getattr(row, name) for name in copied},
        "mode": row.audience_mode or "",
        "state": state_of(row),
        "max_attempts": outbox_policy().max_attempts,
        "error_head": row.error_start.partition("\n")[0],
        "admin_url": admin_url(OutboxEvent, row.pk),
    }


def _detail(row: Any) -> EventDetail:
    copied = ("audience", "payload", "last_error", "lease_expires_at", "stale_recoveries")
    return EventDetail(
        **_fields(row),
        **{name: getattr(row, name) for name in copied},
        claimed_by=row.claimed_by or "",
        waits_for=_waits_for(row),
    )


def _waits_for(row: OutboxEvent) -> int | None:
    if row.status != OutboxStatus.PENDING or row.ordering_key is None:
        return None
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"key": row.ordering_key, "id": row.pk}
        cursor.execute(statement("outbox_waits_for"), values)
        found = cursor.fetchone()
    return found[0] if found else None
