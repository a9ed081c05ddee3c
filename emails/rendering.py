"""Stored mail for an operator's eyes."""

from __future__ import annotations

import email.header
import email.message
import email.parser
import email.policy
from dataclasses import dataclass

from jobs.failure import storable

LONGEST_VALUE = 2000
LONGEST_TEXT = 200_000
MOST_PARTS = 200


@dataclass(frozen=True, kw_only=True)
class PartItem:
    """A part that is listed and not shown."""

    name: str  # empty for one without a file name
    media_type: str
    size: int  # bytes, decoded


@dataclass(frozen=True, kw_only=True)
class MessageParts:
    """What a message holds, for an operator's eyes."""

    text: str | None  # the plain text, None where there is none
    html: str | None
    attachments: tuple[PartItem, ...]


def message_parts(raw: bytes) -> MessageParts:
    """Return the first text and the first HTML of a message, and a list of all other parts."""
    message = email.parser.BytesParser(policy=email.policy.compat32).parsebytes(raw)
    shown: dict[str, str] = {}
    others = []
    for part in [leaf for leaf in message.walk() if not leaf.is_multipart()][:MOST_PARTS]:
        kind = part.get_content_type()
        is_body = kind in ("text/plain", "text/html") and kind not in shown
        if is_body and part.get_content_disposition() != "attachment":
            shown[kind] = _text_of(part)
        else:
            others.append(_part_item(part))
    return MessageParts(
        text=shown.get("text/plain"), html=shown.get("text/html"), attachments=tuple(others)
    )


def header_lines(head: bytes) -> tuple[tuple[str, str], ...]:
    """
    Return the headers of a message as names and readable values, in their order.

    Encoded words (RFC 2047) are decoded; what cannot be decoded is shown as it is.
    """
    parser = email.parser.BytesHeaderParser(policy=email.policy.compat32)
    message = parser.parsebytes(head)
    return tuple((name, readable(str(value))) for name, value in message.items())


def readable(value: str) -> str:
    """Return a header's value unfolded, decoded and cut."""
    unfolded = " ".join(value.split())
    try:
        decoded = str(email.header.make_header(email.header.decode_header(unfolded)))
    except (email.errors.HeaderParseError, LookupError, UnicodeDecodeError, ValueError):
        decoded = unfolded
    text = storable(decoded)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def _text_of(part: email.message.Message) -> str:
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else b""
    try:
        text = raw.decode(part.get_content_charset("utf-8"), "replace")
    except LookupError:  # a character set that nobody knows
        text = raw.decode("latin-1")
    text = storable(text)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def _part_item(part: email.message.Message) -> PartItem:
    payload = part.get_payload(decode=True)
    return PartItem(
        name=readable(part.get_filename() or ""),
        media_type=part.get_content_type(),
        size=len(payload) if isinstance(payload, bytes) else 0,
    )
