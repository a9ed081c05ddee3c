"""
What an operator may do to the outbox: retry what has failed.

The verb is one UPDATE guarded by the rows' state, so that pressing twice acts once, and one
row of the audit in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from jobs import notifier
from jobs.audit import Outcome, Refusal, record
from jobs.models.audit import Via
from realtime.models import OutboxEvent, OutboxStatus
from realtime.statements import statement

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

Events = Iterable[int] | QuerySet[OutboxEvent]
TABLE = OutboxEvent._meta.db_table
RETRIABLE = Q(status=OutboxStatus.FAILED)
# What the audit and a caller are told of; beyond it the number is enough.
IDS_KEPT = 1000


def retry(events: Events, *, actor: AbstractBaseUser | None, via: Via, reason: str = "") -> Outcome:
    """
    Make failed events due now, dead letters and those that wait for their next try alike.

    They begin anew, with no attempts counted. Later events of their keys that are not
    delivered yet wait for them. Anything else is left alone, and the answer says why.
    ``events`` are ids, or rows.
    """
    asked = _ids(events)
    with transaction.atomic():
        changed = _execute(asked)
        refused = _refusals(set(asked) - set(changed)) if len(asked) <= IDS_KEPT else ()
        if changed:
            target = f"{TABLE} {changed[0]}" if len(changed) == 1 else TABLE
            detail = {"count": len(changed), "ids": changed[:IDS_KEPT], "up_to": changed[-1]}
            record(actor=actor, via=via, verb="retry", target=target, reason=reason, detail=detail)
            notifier.wake(TABLE)
    return Outcome(changed=tuple(changed), refused=refused)


def _ids(events: Events) -> list[int]:
    found: Iterable[Any] = events
    if isinstance(events, QuerySet):
        found = events.values_list("pk", flat=True)
    return sorted(set(found))


def _execute(ids: list[int]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement("outbox_retry"), {"ids": ids})
        return sorted(row_id for (row_id,) in cursor.fetchall())


def _refusals(ids: set[int]) -> tuple[Refusal, ...]:
    rows = OutboxEvent.objects.filter(pk__in=ids).values_list("pk", "status")
    known = {row_id: _why(status) for row_id, status in rows}
    return tuple(
        Refusal(id=row_id, why=known.get(row_id, "does not exist")) for row_id in sorted(ids)
    )


def _why(status: str) -> str:
    match status:
        case OutboxStatus.PROCESSING:
            return "is being delivered right now"
        case OutboxStatus.PENDING:
            return "waits already"
    return "is delivered"
