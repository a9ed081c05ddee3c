"""
Deletions, as lists and as one deletion with all its steps.

Pages, commands and tools call these functions and show the same field names.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from deletions.halves import HalfItem, half_of, left_behind, step_words
from deletions.models import BillingAudit, DeletionStatus, Half, UserDeletion
from deletions.policy import deletion_policy
from deletions.standing import DEAD, STATES, read_columns, standing_fields
from jobs.reads.links import admin_url
from jobs.reads.paging import PAGE_LIMIT, Page, read_page

CALLS_SHOWN = 20
EVERYTHING = "everything: it was cancelled before it began"


@dataclass(frozen=True, kw_only=True)
class DeletionItem:
    """One deletion, as a line of a list."""

    id: int
    user_id: str
    status: str
    state: str  # the status in an operator's words: also retrying, dead, lost
    attempts: int
    max_attempts: int
    requeues: int
    requested_by: str
    created_at: dt.datetime
    not_before: dt.datetime | None
    next_retry_at: dt.datetime | None
    since: dt.datetime | None  # abandoned, or claimed for the last time, or done
    access: HalfItem
    external: HalfItem
    local: HalfItem
    left_behind: str  # in words
    error_head: str
    rows_deleted: int
    rows_total: int | None  # None: not counted, or too many to count quickly
    read_at: dt.datetime  # the database's time of this answer
    admin_url: str


@dataclass(frozen=True, kw_only=True)
class StepItem:
    """One step."""

    name: str
    half: str
    state: str  # also waiting
    tries: int
    detail: str
    left_behind: str
    begun_at: dt.datetime | None
    waiting_since: dt.datetime | None
    done_at: dt.datetime | None
    idempotency_key: str


@dataclass(frozen=True, kw_only=True)
class BillingCallItem:
    """One request to the billing service."""

    at: dt.datetime
    url: str
    outcome: str
    status_code: int | None
    answer: str
    milliseconds: int | None


@dataclass(frozen=True, kw_only=True)
class DeletionDetail(DeletionItem):
    """One deletion with its steps and its calls of the billing service, newest first."""

    steps: tuple[StepItem, ...]
    billing_calls: tuple[BillingCallItem, ...]
    reason: str
    last_error: str
    current_step: str
    claimed_by: str
    done_at: dt.datetime | None


def list_deletions(
    *, state: str = "", user_id: str = "", limit: int = PAGE_LIMIT, before_id: int | None = None
) -> Page[DeletionItem]:
    """Return deletions, newest first; ``state`` is a key of ``STATES``."""
    rows = deletion_rows()
    if state:
        rows = rows.filter(STATES[state])
    if user_id:
        rows = rows.filter(user_id=user_id)
    return read_page(rows, deletion_item, limit=limit, before_id=before_id)


def list_abandoned(*, limit: int = PAGE_LIMIT, before_id: int | None = None) -> Page[DeletionItem]:
    """Return what was given up, and what the next pass gives up, newest first."""
    rows = deletion_rows().filter(STATES[DEAD] | deletion_policy().lost)
    return read_page(rows, deletion_item, limit=limit, before_id=before_id)


def get_deletion(deletion_id: int) -> DeletionDetail | None:
    """Return one deletion; None when there is none of that id."""
    row = deletion_rows().filter(pk=deletion_id).first()
    return None if row is None else _detail(row)


def deletion_rows() -> QuerySet[UserDeletion]:
    """Return the rows of lists, with their steps."""
    rows = UserDeletion.objects.annotate(**read_columns(deletion_policy()))
    return rows.prefetch_related("steps")


def deletion_item(row: Any) -> DeletionItem:
    """Return a row of ``deletion_rows`` as a value."""
    return DeletionItem(**_fields(row))


def _fields(row: Any) -> dict[str, Any]:
    copied = ("user_id", "not_before", "next_retry_at", "rows_deleted", "rows_total")
    steps = sorted(row.steps.all(), key=lambda step: (Half.values.index(step.half), step.position))
    return {
        **standing_fields(row, deletion_policy()),
        **{name: getattr(row, name) for name in copied},
        "access": half_of(steps, Half.ACCESS),
        "external": half_of(steps, Half.EXTERNAL),
        "local": half_of(steps, Half.LOCAL),
        "left_behind": EVERYTHING if row.status == DeletionStatus.CANCELLED else left_behind(steps),
        "admin_url": admin_url(UserDeletion, row.pk),
    }


def _detail(row: Any) -> DeletionDetail:
    steps = sorted(row.steps.all(), key=lambda step: (Half.values.index(step.half), step.position))
    calls = BillingAudit.objects.filter(deletion_id=row.pk).order_by("-pk")[:CALLS_SHOWN]
    return DeletionDetail(
        **_fields(row),
        steps=tuple(_step(step) for step in steps),
        billing_calls=tuple(_call(call) for call in calls),
        reason=row.reason,
        last_error=row.last_error,
        current_step=row.current_step or "",
        claimed_by=row.claimed_by or "",
        done_at=row.done_at,
    )


def _step(step: Any) -> StepItem:
    copied = (
        "name", "half", "tries", "detail", "left_behind", "begun_at", "waiting_since", "done_at",
        "idempotency_key",
    )  # fmt: skip
    return StepItem(**{name: getattr(step, name) for name in copied}, state=step_words(step))


def _call(call: BillingAudit) -> BillingCallItem:
    copied = ("at", "url", "outcome", "status_code", "answer", "milliseconds")
    return BillingCallItem(**{name: getattr(call, name) for name in copied})
