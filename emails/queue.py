"""Putting mail in, in the caller's transaction."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.core.mail import EmailMessage
from django.db import IntegrityError, transaction

from emails import conf
from emails.addresses import Mailbox
from emails.errors import InvalidOption
from emails.message import BuiltMessage, build, recipients_of
from emails.models import EmailBody, EmailJob, EmailOutcome, EmailStatus, RecipientState
from emails.screening import mark_suppressed
from emails.suppression import Entries, entries_of
from emails.unsubscribe import unsubscribe_headers
from jobs import notifier

SUBJECT_LIMIT = 2_000
CHUNK = 500


def enqueue(
    message: EmailMessage,
    *,
    idempotency_key: str | None = None,
    unsubscribe: str | None = None,
    kind: str = "",
    priority: int = 0,
    max_attempts: int | None = None,
    expires_at: dt.datetime | None = None,
    user_id: object | None = None,
) -> EmailJob | None:
    """
    Queue a mail and return its row; None when it has no recipients.

    The same ``idempotency_key`` twice is one row. ``unsubscribe`` names the list that the
    mail is of and adds the headers of one-click unsubscription (RFC 8058); such a mail has
    one recipient. ``kind`` labels the mail for operators, a higher ``priority`` is sent
    first, after ``expires_at`` it is not sent any more. Recipients on the suppression list
    are left out; a mail of which nobody is left is a row that is cancelled already.
    Raises ``RefusedMessage`` (a ValueError) for what must not be sent; then there is no row
    and the caller's transaction can still be used.
    """
    options = _checked_options(kind, priority, max_attempts, expires_at, user_id, idempotency_key)
    list_name = _checked_list_name(unsubscribe)
    if not message.recipients():
        return None
    built = build(message, extra_headers=_list_headers(message, list_name))
    row = _row(built, _entries([built]), list_name=list_name, **options)
    if idempotency_key is None:
        _insert([(row, built)])
        return row
    return _insert_once(row, built, idempotency_key)


def enqueue_all(messages: Iterable[EmailMessage]) -> int:
    """Queue many mails, or none of them if one is refused; return how many have a row."""
    built = [build(message) for message in messages if message.recipients()]
    options = _checked_options("", 0, None, None, None, None)
    for start in range(0, len(built), CHUNK):
        chunk = built[start : start + CHUNK]
        entries = _entries(chunk)
        with transaction.atomic():
            _insert([(_row(item, entries, **options), item) for item in chunk])
    return len(built)


def _insert(pairs: Sequence[tuple[EmailJob, BuiltMessage]]) -> None:
    with transaction.atomic():
        EmailJob.objects.bulk_create([row for row, _ in pairs])
        wanted = [(row, built) for row, built in pairs if row.outcome != EmailOutcome.SUPPRESSED]
        EmailBody.objects.bulk_create(
            [EmailBody(email=row, raw=built.raw) for row, built in wanted]
        )
        if wanted:
            notifier.wake(EmailJob._meta.db_table)


def _insert_once(row: EmailJob, built: BuiltMessage, key: str) -> EmailJob:
    known = EmailJob.objects.filter(idempotency_key=key).first()
    if known is not None:
        return known
    try:
        _insert([(row, built)])
    except IntegrityError:  # another transaction was first
        return EmailJob.objects.get(idempotency_key=key)
    return row


def _entries(built: Iterable[BuiltMessage]) -> Entries:
    return entries_of(mailbox.envelope for item in built for mailbox in item.recipients)


def _row(built: BuiltMessage, entries: Entries, *, list_name: str = "", **options: Any) -> EmailJob:
    is_list_mail = built.is_list_mail
    recipients = mark_suppressed(
        [_recipient(mailbox) for mailbox in built.recipients],
        entries,
        is_list_mail=is_list_mail,
        list_name=list_name,
    )
    if all(item["state"] == RecipientState.SUPPRESSED for item in recipients):
        # There is nothing to be sent, so its body is not kept either.
        options |= {"status": EmailStatus.CANCELLED, "outcome": EmailOutcome.SUPPRESSED}
    return EmailJob(
        mail_from=built.mail_from.envelope,
        recipients=recipients,
        is_list_mail=is_list_mail,
        list_name=list_name,
        message_id=built.message_id,
        subject=built.subject[:SUBJECT_LIMIT],
        to_display=built.to_display[:SUBJECT_LIMIT],
        size=built.size,
        **options,
    )


def _recipient(mailbox: Mailbox) -> dict[str, Any]:
    return {
        "address": mailbox.envelope,
        "domain": mailbox.domain,
        "state": RecipientState.PENDING.value,
    }


def _list_headers(message: EmailMessage, list_name: str) -> Mapping[str, str]:
    if not list_name:
        return {}
    return unsubscribe_headers(recipients_of(message), list_name=list_name)


def _checked_list_name(name: str | None) -> str:
    if name is not None and (not name.strip() or len(name) > 100 or "\x00" in name):
        raise InvalidOption("unsubscribe", name, "a list's name of 1 to 100 characters without NUL")
    return name or ""


def _checked_options(
    kind: str,
    priority: int,
    max_attempts: int | None,
    expires_at: dt.datetime | None,
    user_id: object | None,
    idempotency_key: str | None,
) -> dict[str, Any]:
    for name, value, longest in (
        ("kind", kind, 100),
        ("user_id", "" if user_id is None else str(user_id), 200),
        ("idempotency_key", idempotency_key or "", 200),
    ):
        if len(value) > longest or "\x00" in value:
            raise InvalidOption(name, value, f"a text of at most {longest} characters without NUL")
    if not -32768 <= priority <= 32767:
        raise InvalidOption("priority", str(priority), "a whole number from -32768 to 32767")
    if max_attempts is None:
        max_attempts = conf.MAX_ATTEMPTS.get()
    if not 1 <= max_attempts <= 50:
        raise InvalidOption("max_attempts", str(max_attempts), "a whole number from 1 to 50")
    if expires_at is not None and expires_at.tzinfo is None:
        raise InvalidOption("expires_at", str(expires_at), "an instant with its time zone")
    if idempotency_key == "":
        raise InvalidOption("idempotency_key", "", "a text that is not empty, or None")
    return {
        "kind": kind,
        "priority": priority,
        "max_attempts": max_attempts,
        "expires_at": expires_at,
        "user_id": "" if user_id is None else str(user_id),
        "idempotency_key": idempotency_key,
    }
