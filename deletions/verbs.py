"""
What an operator may do to deletions: requeue what was abandoned, cancel what has not begun.

Each verb is guarded by the rows' state, so that pressing twice acts once, and writes one row
of the audit in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import F, Q, QuerySet

from deletions import requests
from deletions.models import DeletionStatus, StepState, UserDeletion, UserDeletionStep
from deletions.policy import deletion_policy
from deletions.standing import is_lost
from jobs import notifier
from jobs.audit import Outcome, Refusal
from jobs.clock import Now
from jobs.models.audit import Via
from jobs.verbs.rows import ids_of, record_rows, refusals

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

Deletions = Iterable[int] | QuerySet[UserDeletion]
TABLE = UserDeletion._meta.db_table
REQUEUABLE = Q(status=DeletionStatus.ABANDONED)
# What a requeued row of either queue is set to.
AFRESH: Mapping[str, Any] = {
    "status": DeletionStatus.PENDING,
    "attempts": 0,
    "stale_recoveries": 0,
    "interruptions": 0,
    "requeues": F("requeues") + 1,
    "next_retry_at": None,
    "abandoned_at": None,
}
LOST_WORDS = (
    "is processing, and its worker died on the last attempt: the next pass of deletions.users "
    "abandons it"
)
STATUS_WORDS: Mapping[str, str] = {
    DeletionStatus.PROCESSING: "is being worked on right now",
    DeletionStatus.FAILED: "has failed and is retried by itself",
    DeletionStatus.CANCELLED: "was cancelled",
}


def requeue(
    deletions: Deletions, *, actor: AbstractBaseUser | None, via: Via, reason: str = ""
) -> Outcome:
    """
    Make abandoned deletions due now, with no attempts counted; steps that are done stay so.

    Anything else is left alone, and the answer says why. ``deletions`` are ids, or rows.
    """
    asked = ids_of(deletions)
    with transaction.atomic():
        rows = UserDeletion.objects.filter(REQUEUABLE, pk__in=asked)
        changed = list(rows.order_by("pk").select_for_update().values_list("pk", flat=True))
        UserDeletion.objects.filter(pk__in=changed).update(**AFRESH)
        # Skipped ones are looked at again: the operator may have set what was missing.
        UserDeletionStep.objects.filter(
            deletion_id__in=changed, state__in=(StepState.FAILED, StepState.SKIPPED)
        ).update(state=StepState.TODO, done_at=None)
        UserDeletionStep.objects.filter(deletion_id__in=changed).update(
            begun_at=None, waiting_since=None
        )
        refused = why_left(set(asked) - set(changed))
        record_rows(UserDeletion, changed, verb="requeue", actor=actor, via=via, reason=reason)
        if changed:
            notifier.wake(TABLE)
    return Outcome(changed=tuple(changed), refused=refused)


def cancel(
    deletions: Deletions, *, actor: AbstractBaseUser | None, via: Via, reason: str = ""
) -> Outcome:
    """Cancel deletions whose ``not_before`` is ahead; nothing of those was touched yet."""
    asked = ids_of(deletions)
    with transaction.atomic():
        changed = requests.cancel_rows(UserDeletion.objects.filter(pk__in=asked))
        refused = why_left(set(asked) - set(changed))
        record_rows(UserDeletion, changed, verb="cancel", actor=actor, via=via, reason=reason)
    return Outcome(changed=tuple(changed), refused=refused)


def why_left(ids: Iterable[int]) -> tuple[Refusal, ...]:
    """Return why deletions are left alone, by id."""
    rows = UserDeletion.objects.annotate(read_at=Now(), is_lost=is_lost(deletion_policy()))
    return refusals(ids, rows=rows, why=_why)


def _why(row: UserDeletion) -> str:
    if row.status != DeletionStatus.PENDING:
        is_lost = row.is_lost  # type: ignore[attr-defined]
        return LOST_WORDS if is_lost else STATUS_WORDS.get(row.status, f"is {row.status}")
    due_at = row.next_retry_at
    if due_at is None or due_at <= row.read_at:  # type: ignore[attr-defined]
        return "is pending and due already"
    return f"is pending and due at {due_at:%Y-%m-%d %H:%M:%S} UTC"
