"""What is kept of an exception: its type, message and a bounded tail of the traceback."""

from __future__ import annotations

import traceback

from jobs.redaction import mask_secrets

MESSAGE_LIMIT = 2_000
TRACEBACK_LIMIT = 8_000


def headline(error: BaseException) -> str:
    """Return ``Type: message`` on one line, masked and cut."""
    text = " ".join(str(error).split())
    head = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return storable(mask_secrets(head))[:MESSAGE_LIMIT]


def describe(error: BaseException) -> str:
    """Return the headline and the last lines of the traceback, masked."""
    lines = "".join(traceback.format_tb(error.__traceback__))
    tail = storable(mask_secrets(lines))[-TRACEBACK_LIMIT:]
    return f"{headline(error)}\n{tail}".rstrip()


def storable(text: str) -> str:
    """Return the text as PostgreSQL can hold it: no NUL, no lone surrogates."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
