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
from deletions.reads import lost
from jobs import notifier
from jobs.audit import Outcome, Refusal, record
from jobs.clock import Now
from jobs.models.audit import Via

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

Deletions = Iterable[int] | QuerySet[UserDeletion]
TABLE = UserDeletion._meta.db_table
REQUEUABLE = Q(status=DeletionStatus.ABANDONED)
# What the audit and a caller are told of; beyond it the number is enough.
IDS_KEPT = 1000
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
        UserDeletion.objects.filter(pk__in=changed).update(
            status=DeletionStatus.PENDING,
            attempts=0,
            stale_recoveries=0,
            interruptions=0,
            requeues=F("requeues") + 1,
            next_retry_at=None,
            abandoned_at=None,
        )
        # Skipped ones are looked at again: the operator may have set what was missing.
        UserDeletionStep.objects.filter(
            deletion_id__in=changed, state__in=(StepState.FAILED, StepState.SKIPPED)
        ).update(state=StepState.TODO, done_at=None)
        UserDeletionStep.objects.filter(deletion_id__in=changed).update(
            begun_at=None, waiting_since=None
        )
        refused = refusals(set(asked) - set(changed))
        audit(TABLE, "requeue", changed, actor=actor, via=via, reason=reason)
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
        refused = refusals(set(asked) - set(changed))
        audit(TABLE, "cancel", changed, actor=actor, via=via, reason=reason)
    return Outcome(changed=tuple(changed), refused=refused)


def refusals(ids: Iterable[int]) -> tuple[Refusal, ...]:
    """Return why deletions are left alone, by id."""
    wanted = sorted(ids)[:IDS_KEPT]
    rows = UserDeletion.objects.filter(pk__in=wanted).annotate(read_at=Now(), is_lost=lost())
    known = {row.pk: _why(row) for row in rows}
    return tuple(Refusal(id=key, why=known.get(key, "does not exist")) for key in wanted)


def ids_of(rows: Iterable[int] | QuerySet[Any]) -> list[int]:
    """Return the ids that a verb is asked to act on, each once, in order."""
    if isinstance(rows, QuerySet):
        return sorted(set(rows.values_list("pk", flat=True)))
    return sorted(set(rows))


def audit(
    table: str,
    verb: str,
    changed: list[int],
    *,
    actor: AbstractBaseUser | None,
    via: Via,
    reason: str,
) -> None:
    """Write what a verb changed into the audit, in the transaction of the change."""
    if not changed:
        return
    target = f"{table} {changed[0]}" if len(changed) == 1 else table
    detail = {"count": len(changed), "ids": changed[:IDS_KEPT], "up_to": changed[-1]}
    record(actor=actor, via=via, verb=verb, target=target, reason=reason, detail=detail)


def _why(row: UserDeletion) -> str:
    if row.status != DeletionStatus.PENDING:
        is_lost = row.is_lost  # type: ignore[attr-defined]
        return LOST_WORDS if is_lost else STATUS_WORDS.get(row.status, f"is {row.status}")
    due_at = row.next_retry_at
    if due_at is None or due_at <= row.read_at:  # type: ignore[attr-defined]
        return "is pending and due already"
    return f"is pending and due at {due_at:%Y-%m-%d %H:%M:%S} UTC"
