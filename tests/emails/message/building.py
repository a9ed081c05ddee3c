"""What tests of messages share: one to build, and what is read out of what was built."""

from __future__ import annotations

import email
import email.message
import email.policy
import re
from typing import Any

import django
from django.core.mail import EmailMultiAlternatives

from emails.message import BuiltMessage

MODERN = django.VERSION >= (6, 0)
LONG_URL = "https://example.org/unsubscribe/" + "t0ken" * 45


def message(**given: Any) -> EmailMultiAlternatives:
    fields: dict[str, Any] = {
        "subject": "Hello",
        "body": "Some text",
        "from_email": "from@example.org",
        "to": ["to@example.org"],
    }
    return EmailMultiAlternatives(**{**fields, **given})


def parse(built: BuiltMessage) -> email.message.EmailMessage:
    parsed = email.message_from_bytes(built.raw, policy=email.policy.default)
    assert not [part.defects for part in parsed.walk() if part.defects]
    return parsed


def leaves(built: BuiltMessage) -> list[email.message.EmailMessage]:
    return [part for part in parse(built).walk() if not part.is_multipart()]


def content(part: email.message.EmailMessage) -> bytes:
    data = part.get_payload(decode=True)
    assert isinstance(data, bytes)
    return data


def check_wire(raw: bytes) -> None:
    assert raw.isascii()
    assert b"\0" not in raw
    assert raw.endswith(b"\r\n")
    assert not re.search(rb"(?<!\r)\n|\r(?!\n)", raw)
    assert max(map(len, raw.split(b"\r\n"))) <= 998
