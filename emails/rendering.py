"""Stored mail for an operator's eyes."""

from __future__ import annotations

import email.header
import email.parser
import email.policy

from jobs.failure import storable

LONGEST_VALUE = 2000


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
