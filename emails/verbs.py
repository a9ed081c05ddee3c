"""
What an operator may do to queued mail: retry it, cancel it.

Each verb is one UPDATE guarded by the rows' state, so that pressing twice acts once, and one
row of the audit in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Q, QuerySet

from emails.models import EmailJob, EmailStatus
from emails.statements import fetch
from jobs import notifier
from jobs.audit import Outcome, Refusal
from jobs.models.audit import Via
from jobs.verbs.rows import IDS_KEPT, ids_of, record_rows, refusals

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

Mails = Iterable[int] | QuerySet[EmailJob]

TABLE = EmailJob._meta.db_table
RETRIABLE = Q(status=EmailStatus.FAILED)
CANCELLABLE = Q(status__in=(EmailStatus.PENDING, EmailStatus.FAILED))


def retry(mails: Mails, *, actor: AbstractBaseUser | None, via: Via, reason: str = "") -> Outcome:
    """
    Make failed mail due now, dead letters and mail that waits for its next try alike.

    A retried mail begins anew: pending, with no attempts, stale recoveries or interruptions
    counted. Recipients that were refused for good stay refused and get no second try, unless
    all were refused: then all are tried again. Accepted recipients never get a second copy.
    Sent and cancelled mail is left alone, and so is mail that a worker holds.

    ``mails`` are ids, or rows such as all dead letters up to an id.
    """
    return _act("retry", "retry_mail", mails, actor=actor, via=via, reason=reason)


def cancel(mails: Mails, *, actor: AbstractBaseUser | None, via: Via, reason: str = "") -> Outcome:
    """
    Cancel mail that waits, has failed or is a dead letter: it will not be sent.

    Mail that a worker holds is left alone, since the server may have it already; so is sent
    mail. ``mails`` are ids, or rows.
    """
    return _act("cancel", "cancel_mail", mails, actor=actor, via=via, reason=reason)


def _act(
    verb: str,
    name: str,
    mails: Mails,
    *,
    actor: AbstractBaseUser | None,
    via: Via,
    reason: str,
) -> Outcome:
    asked = ids_of(mails)
    with transaction.atomic():
        changed = sorted(row_id for (row_id,) in fetch(name, ids=asked))
        refused = _refusals(set(asked) - set(changed)) if len(asked) <= IDS_KEPT else ()
        record_rows(EmailJob, changed, verb=verb, actor=actor, via=via, reason=reason)
        if changed:
            notifier.wake(TABLE)
    return Outcome(changed=tuple(changed), refused=refused)


def _refusals(ids: set[int]) -> tuple[Refusal, ...]:
    return refusals(ids, rows=EmailJob.objects.only("status"), why=_why)


def _why(row: EmailJob) -> str:
    match row.status:
        case EmailStatus.PROCESSING:
            return "is being sent right now"
        case EmailStatus.PENDING:
            return "waits already"
    return f"is {row.status}"
