"""
Sending a copy of a mail again: the same bytes as a new mail.

With the old Message-ID a receiver would drop it as a copy that it has; so Message-ID and Date
are new and all else is as it was.
"""

from __future__ import annotations

import datetime as dt
import email.utils
import re
from typing import TYPE_CHECKING, Any

from django.core.mail.utils import DNS_NAME
from django.db import transaction

from emails.models import EmailBody, EmailJob, EmailOutcome, EmailStatus, RecipientState
from emails.screening import mark_suppressed
from emails.suppression import entries_of
from emails.verbs import Mails
from jobs import notifier
from jobs.audit import Outcome, Refusal, record
from jobs.models.audit import Via
from jobs.verbs.rows import ids_of

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

MOST_COPIES = 1000
RESENDABLE = (EmailStatus.SENT, EmailStatus.FAILED, EmailStatus.CANCELLED)
COPIED = (
    "mail_from", "subject", "to_display", "kind", "user_id", "priority", "max_attempts",
    "is_list_mail", "list_name",
)  # fmt: skip
HEADER = r"(?im)^%s:[^\n]*\n(?:[ \t][^\n]*\n)*"


def resend(mails: Mails, *, actor: AbstractBaseUser | None, via: Via, reason: str = "") -> Outcome:
    """
    Queue a copy of each mail, to all of its recipients; ``changed`` holds the copies' ids.

    For mail that is sent, cancelled or failed, while its body is kept. Recipients on the
    suppression list are left out. At most 1,000 at a time.
    """
    ids = ids_of(mails)[:MOST_COPIES]
    with transaction.atomic():
        found = EmailJob.objects.filter(pk__in=ids).select_related("body").in_bulk()
        copies, refused = [], []
        for mail_id in ids:
            why = _why_not(found.get(mail_id))
            if why:
                refused.append(Refusal(id=mail_id, why=why))
            else:
                copies.append(_copy(found[mail_id]))
        if copies:
            target = f"email_jobs {ids[0]}" if len(ids) == 1 else "email_jobs"
            detail = {"count": len(copies), "ids": ids, "copies": copies}
            record(actor=actor, via=via, verb="resend", target=target, reason=reason, detail=detail)
            notifier.wake("email_jobs")
    return Outcome(changed=tuple(copies), refused=tuple(refused))


def renewed(raw: bytes, *, message_id: str, date: str) -> bytes:
    """Return a finished message with another Message-ID and Date, and all else as it was."""
    head, separator, body = raw.partition(b"\r\n\r\n")
    text = f"{head.decode('ascii')}\r\n"
    for name, value in (("Message-ID", message_id), ("Date", date)):
        text = re.sub(HEADER % name, f"{name}: {value}\r\n", text, count=1)
    return text.removesuffix("\r\n").encode("ascii") + separator + body


def _why_not(mail: EmailJob | None) -> str:
    if mail is None:
        return "does not exist"
    if mail.status not in RESENDABLE:
        return f"is {mail.status}"
    if not hasattr(mail, "body"):
        return "is not kept any more"
    if not all(item["address"] for item in mail.recipients):
        return "was erased"
    return ""


def _copy(mail: EmailJob) -> int:
    message_id = email.utils.make_msgid(domain=str(DNS_NAME))
    date = email.utils.format_datetime(dt.datetime.now(dt.UTC))
    raw = renewed(bytes(mail.body.raw), message_id=message_id, date=date)
    copied: dict[str, Any] = {name: getattr(mail, name) for name in COPIED}
    recipients = _recipients(mail)
    if all(item["state"] == RecipientState.SUPPRESSED for item in recipients):
        copied |= {"status": EmailStatus.CANCELLED, "outcome": EmailOutcome.SUPPRESSED}
    row = EmailJob.objects.create(
        **copied, message_id=message_id, size=len(raw), recipients=recipients
    )
    EmailBody.objects.create(email=row, raw=raw)
    return int(row.pk)


def _recipients(mail: EmailJob) -> list[dict[str, Any]]:
    anew = [
        {
            "address": item["address"],
            "domain": item["domain"],
            "state": RecipientState.PENDING.value,
        }
        for item in mail.recipients
    ]
    entries = entries_of(item["address"] for item in anew)
    return mark_suppressed(anew, entries, is_list_mail=mail.is_list_mail, list_name=mail.list_name)
