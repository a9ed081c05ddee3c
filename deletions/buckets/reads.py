"""
Bucket deletions, as lists and as one with its phases and failed keys.

Pages, commands and tools call these functions and show the same field names.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from deletions.buckets.pace import Pace, pace_of
from deletions.buckets.policy import bucket_policy
from deletions.models import BucketDeletionJob, BucketPhase, DeletionStatus
from deletions.standing import STATES, read_columns, standing_fields
from jobs.reads.links import admin_url
from jobs.reads.paging import PAGE_LIMIT, Page, read_page

# How the phase is that a job has come to.
HERE: Mapping[str, str] = {DeletionStatus.PROCESSING: "current", DeletionStatus.PENDING: "todo"}


@dataclass(frozen=True, kw_only=True)
class BucketItem:
    """One bucket deletion, as a line of a list."""

    id: int
    bucket_name: str
    endpoint: str
    prefix: str
    status: str
    state: str  # the status in an operator's words: also retrying, dead, lost
    phase: str
    total_objects: int | None  # None: not counted yet
    deleted_objects: int
    listed_objects: int  # by the listing that goes on or was the last
    objects_per_s: float | None  # of the claim that goes on; None while nothing can be said
    seconds_left: float | None
    failed_objects: int  # that the last claim could not delete
    attempts: int  # claims in a row without progress
    max_attempts: int
    requeues: int
    requested_by: str
    created_at: dt.datetime
    next_attempt_at: dt.datetime | None
    since: dt.datetime | None  # abandoned, or done, or claimed for the last time
    error_head: str
    read_at: dt.datetime  # the database's time of this answer
    admin_url: str


@dataclass(frozen=True, kw_only=True)
class FailedKeyItem:
    """A key that the last claim could not delete."""

    key: str
    code: str  # the store's own word, or StillListed
    message: str


@dataclass(frozen=True, kw_only=True)
class PhaseItem:
    """One phase: done, current or to come."""

    name: str
    state: str  # done, current, halted (nobody is at it), todo


@dataclass(frozen=True, kw_only=True)
class BucketDetail(BucketItem):
    """One bucket deletion with its phases and the first keys that failed."""

    phases: tuple[PhaseItem, ...]
    failed_keys: tuple[FailedKeyItem, ...]
    last_error: str
    claimed_by: str
    lease_expires_at: dt.datetime | None
    progressed_at: dt.datetime | None
    user_deletion_id: int | None
    done_at: dt.datetime | None


def list_buckets(
    *, state: str = "", bucket: str = "", limit: int = PAGE_LIMIT, before_id: int | None = None
) -> Page[BucketItem]:
    """Return bucket deletions, newest first; ``state`` is a key of ``STATES``."""
    rows = bucket_rows()
    if state:
        rows = rows.filter(STATES[state])
    if bucket:
        rows = rows.filter(bucket_name=bucket)
    return read_page(rows, bucket_item, limit=limit, before_id=before_id)


def get_bucket(job_id: int) -> BucketDetail | None:
    """Return one bucket deletion; None when there is none of that id."""
    row = bucket_rows().filter(pk=job_id).first()
    return None if row is None else _detail(row)


def bucket_rows() -> QuerySet[BucketDeletionJob]:
    """Return the rows of lists."""
    return BucketDeletionJob.objects.annotate(**read_columns(bucket_policy()))


def bucket_item(row: Any) -> BucketItem:
    """Return a row of ``bucket_rows`` as a value."""
    return BucketItem(**_fields(row))


def phases_of(phase: str, *, status: str, has_prefix: bool) -> tuple[PhaseItem, ...]:
    """Return the phases of a job that is in one of them. A pure function."""
    names = [name for name in BucketPhase.values if not (has_prefix and name == "bucket")]
    place = len(names) if status == DeletionStatus.DONE else names.index(phase)
    states = ["done"] * place + [HERE.get(status, "halted")] + ["todo"] * len(names)
    return tuple(
        PhaseItem(name=name, state=state) for name, state in zip(names, states, strict=False)
    )


def _fields(row: Any) -> dict[str, Any]:
    copied = (
        "bucket_name", "endpoint", "prefix", "phase", "total_objects", "deleted_objects",
        "listed_objects", "failed_objects",
    )  # fmt: skip
    pace = _pace(row)
    return {
        **standing_fields(row, bucket_policy()),
        **{name: getattr(row, name) for name in copied},
        "objects_per_s": pace.objects_per_s,
        "seconds_left": pace.seconds_left,
        "next_attempt_at": row.next_retry_at,
        "admin_url": admin_url(BucketDeletionJob, row.pk),
    }


def _detail(row: Any) -> BucketDetail:
    return BucketDetail(
        **_fields(row),
        phases=phases_of(row.phase, status=row.status, has_prefix=bool(row.prefix)),
        failed_keys=tuple(FailedKeyItem(**failed) for failed in row.failed_keys),
        last_error=row.last_error,
        claimed_by=row.claimed_by or "",
        lease_expires_at=row.lease_expires_at,
        progressed_at=row.progressed_at,
        user_deletion_id=row.user_deletion_id,
        done_at=row.done_at,
    )


def _pace(row: Any) -> Pace:
    if row.status != DeletionStatus.PROCESSING:
        return Pace()
    return pace_of(
        deleted=row.deleted_objects,
        deleted_before=row.deleted_before,
        total=row.total_objects,
        since=row.emptying_since,
        until=row.progressed_at,
    )
