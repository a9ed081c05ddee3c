"""
What an operator may do to the outbox: retry what has failed.

The verb is one UPDATE guarded by the rows' state, so that pressing twice acts once, and one
row of the audit in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from jobs import notifier
from jobs.audit import Outcome, Refusal
from jobs.models.audit import Via
from jobs.verbs.rows import IDS_KEPT, ids_of, record_rows, refusals
from realtime.models import OutboxEvent, OutboxStatus
from realtime.statements import statement

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

Events = Iterable[int] | QuerySet[OutboxEvent]
TABLE = OutboxEvent._meta.db_table
RETRIABLE = Q(status=OutboxStatus.FAILED)


def retry(events: Events, *, actor: AbstractBaseUser | None, via: Via, reason: str = "") -> Outcome:
    """
    Make failed events due now, dead letters and those that wait for their next try alike.

    They begin anew, with no attempts counted. Later events of their keys that are not
    delivered yet wait for them. Anything else is left alone, and the answer says why.
    ``events`` are ids, or rows.
    """
    asked = ids_of(events)
    with transaction.atomic():
        changed = _execute(asked)
        refused = _refusals(set(asked) - set(changed)) if len(asked) <= IDS_KEPT else ()
        record_rows(OutboxEvent, changed, verb="retry", actor=actor, via=via, reason=reason)
        if changed:
            notifier.wake(TABLE)
    return Outcome(changed=tuple(changed), refused=refused)


def _execute(ids: list[int]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement("outbox_retry"), {"ids": ids})
        return sorted(row_id for (row_id,) in cursor.fetchall())


def _refusals(ids: set[int]) -> tuple[Refusal, ...]:
    return refusals(ids, rows=OutboxEvent.objects.only("status"), why=_why)


def _why(row: OutboxEvent) -> str:
    match row.status:
        case OutboxStatus.PROCESSING:
            return "is being delivered right now"
        case OutboxStatus.PENDING:
            return "waits already"
    return "is delivered"
