"""How rows of both queues stand, of users and of buckets: what their reads have alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import BooleanField, ExpressionWrapper, Q
from django.db.models.functions import Left

from deletions.models import DeletionStatus
from jobs.claims import ClaimPolicy
from jobs.clock import Now

ERROR_HEAD = 300
RETRYING = "retrying"
DEAD = "dead"
LOST = "lost"  # abandoned by the next pass
# What a list can be narrowed to; each has a partial index, or is most of the table.
STATES: Mapping[str, Q] = {
    DEAD: Q(status=DeletionStatus.ABANDONED, next_retry_at__isnull=True),
    # Both arms by name: each has an index of its own, their union has none.
    DeletionStatus.PENDING: Q(status=DeletionStatus.PENDING, next_retry_at__isnull=True)
    | Q(status=DeletionStatus.PENDING, next_retry_at__isnull=False),
    DeletionStatus.PROCESSING: Q(status=DeletionStatus.PROCESSING),
    RETRYING: Q(status=DeletionStatus.FAILED, next_retry_at__isnull=False),
    DeletionStatus.DONE: Q(status=DeletionStatus.DONE),
    DeletionStatus.CANCELLED: Q(status=DeletionStatus.CANCELLED),
}


def read_columns(policy: ClaimPolicy) -> dict[str, Any]:
    """Return what reads add to a row: how its error begins, the time, whether it is lost."""
    return {
        "error_start": Left("last_error", ERROR_HEAD),
        "read_at": Now(),
        "is_lost": is_lost(policy),
    }


def is_lost(policy: ClaimPolicy) -> ExpressionWrapper[Any]:
    """Say of a row whether a dead worker left it at the cap, so that no claim takes it."""
    return ExpressionWrapper(policy.lost, output_field=BooleanField())


def state_of(row: Any) -> str:
    """Return a row's status in an operator's words."""
    match row.status:
        case DeletionStatus.ABANDONED:
            return DEAD
        case DeletionStatus.FAILED:
            return RETRYING
        case DeletionStatus.PROCESSING if row.is_lost:
            return LOST
    return str(row.status)


def standing_fields(row: Any, policy: ClaimPolicy) -> dict[str, Any]:
    """Return the fields that every item has, of a row with ``read_columns``."""
    copied = ("id", "status", "attempts", "requeues", "requested_by", "created_at", "read_at")
    return {
        **{name: getattr(row, name) for name in copied},
        "state": state_of(row),
        "max_attempts": policy.max_attempts,
        "since": row.abandoned_at or row.done_at or row.claimed_at,
        "error_head": row.error_start.partition("\n")[0],
    }
