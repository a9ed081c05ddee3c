"""
Mail, as lists and as one mail with everything that is known of it.

Pages, commands and tools call these functions and show the same field names.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Func, IntegerField, Q, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Left, Substr
from django.utils.dateparse import parse_datetime

from emails.models import EmailBody, EmailJob, EmailOutcome, EmailStatus
from emails.rendering import header_lines
from jobs.clock import Now
from jobs.reads.links import admin_url
from jobs.reads.paging import PAGE_LIMIT, Page, read_page

ERROR_HEAD = 300
# More than any mail server takes as headers.
HEADER_BYTES = 65_536

RETRYING = "retrying"
DEAD = "dead"
PARTIAL = "partial"
DEAD_LETTERS = Q(status=EmailStatus.FAILED, next_retry_at__isnull=True)
# What a list can be narrowed to. Each has a partial index, or is most of the table.
STATES: Mapping[str, Q] = {
    # Both arms by name: each has an index of its own, their union has none.
    EmailStatus.PENDING: Q(status=EmailStatus.PENDING, next_retry_at__isnull=True)
    | Q(status=EmailStatus.PENDING, next_retry_at__isnull=False),
    EmailStatus.PROCESSING: Q(status=EmailStatus.PROCESSING),
    RETRYING: Q(status=EmailStatus.FAILED, next_retry_at__isnull=False),
    DEAD: DEAD_LETTERS,
    EmailStatus.SENT: Q(status=EmailStatus.SENT),
    EmailStatus.CANCELLED: Q(status=EmailStatus.CANCELLED),
}


@dataclass(frozen=True, kw_only=True)
class EmailItem:
    """One mail, as a line of a list."""

    id: int
    kind: str
    to: str  # the first address
    more_recipients: int
    subject: str
    status: str
    state: str  # the status in an operator's words: also retrying, dead, partial
    outcome: str
    attempts: int
    max_attempts: int
    last_code: int | None
    error_head: str
    next_retry_at: dt.datetime | None
    possible_duplicate: bool
    created_at: dt.datetime
    sent_at: dt.datetime | None
    read_at: dt.datetime  # the database's time of this answer
    admin_url: str


@dataclass(frozen=True, kw_only=True)
class RecipientItem:
    """One recipient, with the server's last answer to it."""

    address: str
    state: str
    code: int | None
    enhanced: str
    text: str  # the reply in full, or what happened instead
    at: dt.datetime | None


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One step of a mail's life."""

    at: dt.datetime
    what: str


@dataclass(frozen=True, kw_only=True)
class EmailDetail(EmailItem):
    """One mail with its recipients, its history and its headers, without its body."""

    recipients: tuple[RecipientItem, ...]
    timeline: tuple[Moment, ...]  # oldest first
    headers: tuple[tuple[str, str], ...]  # empty when the body has been pruned
    mail_from: str
    message_id: str
    size: int
    last_error: str
    priority: int
    user_id: str
    is_list_mail: bool
    list_name: str
    stale_recoveries: int
    interruptions: int
    claimed_by: str
    expires_at: dt.datetime | None


def list_emails(
    *, state: str = "", kind: str = "", limit: int = PAGE_LIMIT, before_id: int | None = None
) -> Page[EmailItem]:
    """Return mail, newest first; ``state`` is a key of ``STATES``, ``kind`` the exact label."""
    rows = email_rows()
    if state:
        rows = rows.filter(STATES[state])
    if kind:
        rows = rows.filter(kind=kind)
    return read_page(rows, email_item, limit=limit, before_id=before_id)


def get_email(email_id: int) -> EmailDetail | None:
    """Return one mail; None when there is none of that id."""
    row = EmailJob.objects.annotate(**_read_columns()).filter(pk=email_id).first()
    return None if row is None else _detail(row)


def email_rows() -> QuerySet[EmailJob]:
    """Return the rows of lists: without the recipients' JSON, which can be long."""
    return EmailJob.objects.defer("recipients", "last_error").annotate(**_read_columns())


def email_item(row: Any) -> EmailItem:
    """Return a row of ``email_rows`` as a value."""
    return EmailItem(**_fields(row))


def state_of(row: EmailJob) -> str:
    """Return a mail's status in an operator's words."""
    match row.status:
        case EmailStatus.FAILED:
            return DEAD if row.next_retry_at is None else RETRYING
        case EmailStatus.SENT if row.outcome == EmailOutcome.PARTIAL:
            return PARTIAL
    return str(row.status)


def _read_columns() -> dict[str, Any]:
    first = KeyTextTransform("address", KeyTextTransform("0", "recipients"))
    total = Func(F("recipients"), function="jsonb_array_length", output_field=IntegerField())
    return {
        "first_address": first,
        "recipient_total": total,
        "error_start": Left(F("last_error"), ERROR_HEAD),
        "read_at": Now(),
    }


def _fields(row: Any) -> dict[str, Any]:
    copied = (
        "id", "kind", "subject", "status", "outcome", "attempts", "max_attempts", "last_code",
        "next_retry_at", "possible_duplicate", "created_at", "sent_at", "read_at",
    )  # fmt: skip
    return {
        **{name: getattr(row, name) for name in copied},
        "to": row.first_address or "",
        "more_recipients": max(0, (row.recipient_total or 0) - 1),
        "state": state_of(row),
        "error_head": row.error_start.partition("\n")[0],
        "admin_url": admin_url(EmailJob, row.pk),
    }


def _detail(row: Any) -> EmailDetail:
    recipients = tuple(_recipient(entry) for entry in row.recipients)
    copied = (
        "mail_from", "message_id", "size", "last_error", "priority", "user_id", "is_list_mail",
        "list_name",
        "stale_recoveries", "interruptions", "expires_at",
    )  # fmt: skip
    return EmailDetail(
        **_fields(row),
        **{name: getattr(row, name) for name in copied},
        claimed_by=row.claimed_by or "",
        recipients=recipients,
        timeline=_timeline(row, recipients),
        headers=_headers(row.pk),
    )


def _recipient(entry: Mapping[str, Any]) -> RecipientItem:
    code = entry.get("code")
    at = entry.get("at")
    return RecipientItem(
        address=str(entry.get("address", "")),
        state=str(entry.get("state", "")),
        code=code if isinstance(code, int) else None,
        enhanced=str(entry.get("enhanced") or ""),
        text=str(entry.get("text") or ""),
        at=parse_datetime(at) if isinstance(at, str) else None,
    )


def _timeline(row: Any, recipients: tuple[RecipientItem, ...]) -> tuple[Moment, ...]:
    known = [
        (row.created_at, "queued"),
        (row.claimed_at, f"claimed by {row.claimed_by}"),
        (row.begun_at, "sending begun"),
        (row.sending_since, "on its way to the server"),
        *((each.at, _answered(each)) for each in recipients),
        (row.sent_at, "sent"),
        (row.next_retry_at, "due again"),
        (row.expires_at, "expires"),
    ]
    moments = [Moment(at=at, what=what) for at, what in known if at is not None]
    return tuple(sorted(moments, key=lambda moment: moment.at))


def _answered(recipient: RecipientItem) -> str:
    code = f" with {recipient.code}" if recipient.code else ""
    return f"{recipient.address} {recipient.state}{code}"


def _headers(email_id: int) -> tuple[tuple[str, str], ...]:
    bodies = EmailBody.objects.filter(pk=email_id)
    head = bodies.values_list(Substr("raw", 1, HEADER_BYTES), flat=True).first()
    return () if head is None else header_lines(bytes(head))
