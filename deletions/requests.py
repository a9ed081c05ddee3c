"""Asking for a deletion, and taking that back while nothing has begun."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from deletions.errors import NaiveInstantError, UnsavedUserError, UnsettledRequestError
from deletions.models import LIVE, DeletionStatus, UserDeletion
from deletions.snapshot import take_snapshot
from deletions.steps import add_missing_rows, load_steps
from jobs import notifier
from jobs.clock import Now
from jobs.verbs.targets import kept_reason

THE_USER = "the user"
NAME_LENGTH = 200
LOOKS = 5


def request(
    user: Any, *, requested_by: Any, reason: str = "", not_before: dt.datetime | None = None
) -> UserDeletion:
    """
    Queue the deletion of a user, in the caller's transaction; return its row.

    ``requested_by`` is a user or a name. Until ``not_before`` it can be cancelled. A user has
    one live deletion: a second request returns the first one's row as it is. Raises
    ``UnsavedUserError``, ``NaiveInstantError``, ``SnapshotError`` or ``UnsettledRequestError``.
    """
    if user.pk is None:
        raise UnsavedUserError
    if not_before is not None and not_before.tzinfo is None:
        raise NaiveInstantError(not_before)
    columns = {
        "user_id": str(user.pk),
        "snapshot": take_snapshot(user),
        "requested_by": _name(requested_by, user)[:NAME_LENGTH],
        "reason": kept_reason(reason),
        "not_before": not_before,
        "next_retry_at": not_before,
    }
    for _ in range(LOOKS):
        found = live_of(user.pk) or _insert(columns)
        if found is not None:
            return found
    raise UnsettledRequestError(user.pk)


def cancel(deletion: UserDeletion | int) -> bool:
    """
    Cancel a deletion that has not begun and whose ``not_before`` is ahead.

    Returns False when it is too late, or was cancelled before.
    """
    key = deletion if isinstance(deletion, int) else deletion.pk
    return bool(cancel_rows(UserDeletion.objects.filter(pk=key)))


def cancel_rows(rows: QuerySet[UserDeletion]) -> list[int]:
    """Cancel those of the rows that can be; return their ids."""
    with transaction.atomic():
        ids = list(
            rows.filter(cancellable())
            .order_by("pk")
            .select_for_update(of=("self",))
            .values_list("pk", flat=True)
        )
        UserDeletion.objects.filter(pk__in=ids).update(
            status=DeletionStatus.CANCELLED, next_retry_at=None, snapshot={}
        )
    return ids


def cancellable() -> Q:
    """Return which deletions can be cancelled, by the database's clock."""
    return Q(status=DeletionStatus.PENDING, not_before__gt=Now(), attempts=0, requeues=0)


def live_of(key: Any) -> UserDeletion | None:
    """Return the live deletion of a user."""
    return UserDeletion.objects.filter(user_id=str(key), status__in=LIVE).first()


def _insert(columns: dict[str, Any]) -> UserDeletion | None:
    """Insert a row; return None when another request was first."""
    try:
        with transaction.atomic():
            row = UserDeletion.objects.create(**columns)
            add_missing_rows(row.pk, load_steps())
            notifier.wake(UserDeletion._meta.db_table)
    except IntegrityError:
        return None
    row.refresh_from_db()
    return row


def _name(requested_by: Any, user: Any) -> str:
    """Return who asks; of the user itself no name, which would outlive it."""
    own = {str(user.pk), getattr(user, "email", None)}
    if hasattr(user, "get_username"):
        own.add(user.get_username())
    if requested_by == user or requested_by in own:
        return THE_USER
    if hasattr(requested_by, "get_username"):
        return str(requested_by.get_username())
    return str(requested_by)
