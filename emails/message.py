"""A Django message in, the finished bytes and the envelope out.

Built once, when the message is queued: every error reaches the caller, and each attempt sends
the same bytes, with the same Message-ID, Date and boundaries, so that a receiver can drop a copy.
"""

from __future__ import annotations

import datetime as dt
import email.errors
import email.generator
import email.utils
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import django.core.mail.message
from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.utils import DNS_NAME
from django.utils import timezone

from emails import headers, parts
from emails.addresses import Mailbox, check_characters, decode_words, parse_mailbox
from emails.errors import (
    BccHeader,
    InvalidHeaderValue,
    MalformedMessage,
    RefusedMessage,
    RepeatedHeader,
    ReservedHeader,
)

HEADERS_OF_FIELDS = {"from": "From", "to": "To", "cc": "Cc", "reply-to": "Reply-To"}
BLIND_HEADERS = frozenset(["bcc", "resent-bcc"])
RESERVED_HEADERS = frozenset(["mime-version", "content-type", "content-transfer-encoding"])
BARE_LINE_END = re.compile(rb"(?<!\r)\n|\r(?!\n)")


@dataclass(frozen=True, kw_only=True)
class BuiltMessage:
    """A finished message: what is sent, and to whom."""

    raw: bytes  # 7-bit, lines end in CRLF
    message_id: str
    subject: str  # decoded
    mail_from: Mailbox
    recipients: tuple[Mailbox, ...]  # To, Cc and Bcc in this order, each address once
    to_display: str  # the To mailboxes for an operator's eyes
    is_list_mail: bool  # has List-Unsubscribe

    @property
    def size(self) -> int:
        """The number of bytes, as the SMTP extension SIZE counts them."""
        return len(self.raw)

    @property
    def needs_smtputf8(self) -> bool:
        """Whether the sender can be named only to a server with SMTPUTF8."""
        return self.mail_from.needs_smtputf8


def build(message: EmailMessage, *, extra_headers: Mapping[str, str] | None = None) -> BuiltMessage:
    """Build a Django message. `extra_headers` come on top of the message's own.

    Raises RefusedMessage, a ValueError, for what must not be sent, and leaves the message as it is.
    """
    given = _given_headers({**message.extra_headers, **(extra_headers or {})})
    mail_from = parse_mailbox(str(message.from_email), header="From")
    recipients = recipients_of(message)
    lines = _lines(message, given)
    if _is_custom(message):
        root: parts.Part = message.message()
        lines = _custom_lines(root, lines)
        parts.make_seven_bit(root)
    else:
        root = parts.build_parts(message)
    named = {name.lower(): value for name, value in lines}
    return BuiltMessage(
        raw=_flatten(root, lines),
        message_id=named["message-id"],
        subject=decode_words(named.get("subject", "")),
        mail_from=mail_from,
        recipients=recipients,
        to_display=", ".join(
            parse_mailbox(str(to), header="To").readable for to in message.to if to
        ),
        is_list_mail="list-unsubscribe" in named,
    )


def recipients_of(message: EmailMessage) -> tuple[Mailbox, ...]:
    """Return To, Cc and Bcc in this order, each address once. Raises RefusedMessage."""
    blind = set(map(str, message.bcc)) - set(map(str, [*message.to, *message.cc]))
    found: dict[str, Mailbox] = {}
    for text in map(str, message.recipients()):
        mailbox = parse_mailbox(text, header="Bcc" if text in blind else "To")
        found.setdefault(f"{mailbox.local}@{mailbox.domain.lower()}", mailbox)
    return tuple(found.values())


def _given_headers(found: Mapping[Any, Any]) -> dict[str, str]:
    given: dict[str, str] = {}
    seen: set[str] = set()
    for name, value in found.items():
        text = _header_text(value)
        _check_given(str(name), text)
        if name.lower() in seen:
            raise RepeatedHeader(str(name))
        seen.add(name.lower())
        given[str(name)] = text
    return given


def _header_text(value: Any) -> str:
    return email.utils.format_datetime(value) if isinstance(value, dt.datetime) else str(value)


def _check_given(name: str, value: str) -> None:
    headers.check_name(name)
    check_characters(value, header=name)
    kind = name.lower()
    if kind in BLIND_HEADERS:
        raise BccHeader(name)
    if kind in RESERVED_HEADERS:
        raise ReservedHeader(name)
    if kind == "subject":
        raise RepeatedHeader(name)
    if kind == "date" and email.utils.parsedate_tz(value) is None:
        raise InvalidHeaderValue(name, value, allowed="a date of RFC 5322 or a datetime")
    if kind == "message-id" and not re.fullmatch(r"[!-~]+", value.strip()):
        raise InvalidHeaderValue(name, value, allowed="one id without spaces, as in <id@host>")


def _lines(message: EmailMessage, given: Mapping[str, str]) -> list[tuple[str, str]]:
    lowered = {name.lower(): value.strip() for name, value in given.items()}
    fields = {
        "Subject": str(message.subject),
        "From": lowered.get("from", str(message.from_email)),
        "To": lowered.get("to") or _listed(message.to, header="To"),
        "Cc": lowered.get("cc") or _listed(message.cc, header="Cc"),
        "Reply-To": lowered.get("reply-to") or _listed(message.reply_to, header="Reply-To"),
        "Date": lowered.get("date") or _now(),
        "Message-ID": lowered.get("message-id") or email.utils.make_msgid(domain=str(DNS_NAME)),
    }
    for name, value in fields.items():
        check_characters(value, header=name)
    taken = {name.lower() for name in fields}
    others = [(name, value) for name, value in given.items() if name.lower() not in taken]
    return [item for item in fields.items() if item[1] or item[0] == "Subject"] + others


def _listed(values: Iterable[Any], *, header: str) -> str:
    texts = [str(value) for value in values if value]
    for text in texts:
        parse_mailbox(text, header=header)  # one each, before the comma joins them
    return ", ".join(texts)


def _now() -> str:
    now = dt.datetime.now(dt.UTC)
    return email.utils.format_datetime(
        timezone.localtime(now) if settings.EMAIL_USE_LOCALTIME else now
    )


def _is_custom(message: EmailMessage) -> bool:
    """Whether the message's class has its own way to make a MIME tree of it."""
    own = {"message", "_create_message", "_create_alternatives", "_create_attachments"}
    own |= {"_create_attachment", "_create_mime_attachment", "_add_bodies", "_add_attachments"}
    own |= {"_add_attachment"}
    return any(
        own & vars(cls).keys()
        for cls in type(message).__mro__
        if cls.__module__ != django.core.mail.message.__name__
    )


def _custom_lines(root: parts.Part, lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Move the headers that such a class wrote from its tree to the lines: it may choose them."""
    fields = dict(lines)
    for name, value in root.raw_items():
        headers.check_name(name)
        text = headers.unfolded(value)
        check_characters(text, header=name)
        if name.lower() in BLIND_HEADERS:
            raise BccHeader(name)
        if not name.lower().startswith("content-") and name.lower() not in {"mime-version", "date"}:
            fields[name] = text
    for name in {name for name in root if not name.lower().startswith("content-")}:
        del root[name]
    return list(fields.items())


def _flatten(root: parts.Part, lines: Iterable[tuple[str, str]]) -> bytes:
    described = list(root.raw_items())
    for name in {name for name, _ in described}:
        del root[name]
    for name, value in [*lines, ("MIME-Version", "1.0"), *described]:
        root.set_raw(name, value)
    out = io.BytesIO()
    try:
        email.generator.BytesGenerator(out, policy=headers.WIRE_POLICY).flatten(root)
    except RefusedMessage:
        raise
    except (email.errors.MessageError, LookupError, ValueError) as error:
        raise MalformedMessage(str(error)) from error
    return _checked(out.getvalue())


def _checked(raw: bytes) -> bytes:
    finished = raw if raw.endswith(b"\r\n") else raw + b"\r\n"
    longest = max(map(len, finished.split(b"\r\n")))
    if not finished.isascii() or b"\0" in finished or BARE_LINE_END.search(finished):
        raise MalformedMessage("a part is not in 7 bits with CRLF line ends")
    if longest > headers.LONGEST_LINE:
        raise MalformedMessage(f"a line is {longest} bytes long")
    return finished
