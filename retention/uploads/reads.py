"""
Upload reservations, as lists and as one.

Pages, commands and tools call these functions and show the same field names.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from jobs.clock import Now
from jobs.reads.links import admin_url
from jobs.reads.paging import PAGE_LIMIT, Page, read_page
from retention.models import UploadReservation, UploadStatus
from retention.uploads.owners import owner_key
from retention.uploads.quotas import usage_of
from retention.uploads.values import Usage

OVERDUE = "overdue"  # expired, and not taken by a pass yet
STUCK = "stuck"  # could not be released so far
# What a list can be narrowed to.
STATES: Mapping[str, Q] = {
    UploadStatus.PENDING: Q(status=UploadStatus.PENDING),
    UploadStatus.COMPLETING: Q(status=UploadStatus.COMPLETING),
    UploadStatus.EXPIRING: Q(status=UploadStatus.EXPIRING),
    STUCK: Q(status=UploadStatus.EXPIRING, tries__gt=0),
    UploadStatus.COMPLETED: Q(status=UploadStatus.COMPLETED),
}


@dataclass(frozen=True, kw_only=True)
class UploadItem:
    """One reservation."""

    id: int
    owner: str
    filename: str
    size: int  # bytes
    content_type: str
    status: str
    state: str  # the status in an operator's words: also overdue, stuck
    endpoint: str
    bucket: str
    key: str
    created_at: dt.datetime
    expires_at: dt.datetime
    completed_at: dt.datetime | None
    tries: int
    last_error: str
    read_at: dt.datetime  # the database's time of this answer
    admin_url: str


@dataclass(frozen=True, kw_only=True)
class UploadDetail(UploadItem):
    """One reservation with what its owner has in all."""

    usage: Usage
    claimed_until: dt.datetime | None


def list_uploads(
    *, state: str = "", owner: str = "", limit: int = PAGE_LIMIT, before_id: int | None = None
) -> Page[UploadItem]:
    """Return reservations, newest first; ``state`` is a key of ``STATES``."""
    rows = upload_rows()
    if state:
        rows = rows.filter(STATES[state])
    if owner:
        rows = rows.filter(owner=owner_key(owner))
    return read_page(rows, upload_item, limit=limit, before_id=before_id)


def get_upload(reservation: int) -> UploadDetail | None:
    """Return one reservation; None when there is none of that id."""
    row = upload_rows().filter(pk=reservation).first()
    if row is None:
        return None
    return UploadDetail(**_fields(row), usage=usage_of(row.owner), claimed_until=row.claimed_until)


def upload_rows() -> QuerySet[UploadReservation]:
    """Return the rows of lists."""
    return UploadReservation.objects.annotate(read_at=Now())


def upload_item(row: Any) -> UploadItem:
    """Return a row of ``upload_rows`` as a value."""
    return UploadItem(**_fields(row))


def state_of(row: Any) -> str:
    """Return a reservation's status in an operator's words."""
    match row.status:
        case UploadStatus.EXPIRING if row.tries:
            return STUCK
        case UploadStatus.PENDING if row.expires_at <= row.read_at:
            return OVERDUE
    return str(row.status)


def _fields(row: Any) -> dict[str, Any]:
    copied = (
        "id", "owner", "filename", "size", "content_type", "status", "endpoint", "bucket", "key",
        "created_at", "expires_at", "completed_at", "tries", "last_error", "read_at",
    )  # fmt: skip
    return {
        **{name: getattr(row, name) for name in copied},
        "state": state_of(row),
        "admin_url": admin_url(UploadReservation, row.pk),
    }
