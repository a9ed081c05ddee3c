"""Rows into the outbox."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import DEFAULT_DB_ALIAS, connections, transaction

from jobs import notifier
from realtime.errors import PayloadTooLargeError, PublishError
from realtime.models import OutboxEvent
from realtime.statements import statement

TABLE = OutboxEvent._meta.db_table
# The database of the outbox: the rows it speaks of change in the same transaction.
USING = DEFAULT_DB_ALIAS
PAYLOAD_BYTES = 1_000_000


@dataclass(frozen=True, kw_only=True)
class NewEvent:
    """One event that is to be written."""

    topic: str
    event: str
    payload: str  # JSON
    audience: dict[str, Any]
    ordering_key: str | None = None


def write(events: Sequence[NewEvent]) -> list[int]:
    """
    Write events in the caller's transaction, in this order; return their ids.

    The outbox's workers are woken once it has committed.
    """
    if not events:
        return []
    values: dict[str, Any] = {
        "topics": [event.topic for event in events],
        "events": [event.event for event in events],
        "payloads": [event.payload for event in events],
        "audiences": [json.dumps(event.audience) for event in events],
        "ordering_keys": [event.ordering_key for event in events],
    }
    with transaction.atomic(using=USING), connections[USING].cursor() as cursor:
        cursor.execute(statement("outbox_write"), values)
        ids = [row_id for (row_id,) in cursor.fetchall()]
        notifier.wake(TABLE, using=USING)
    return ids


def encoded(payload: Any) -> str:
    """Return a payload as JSON. Raises PublishError, PayloadTooLargeError."""
    try:
        text = json.dumps(
            payload, cls=DjangoJSONEncoder, ensure_ascii=False, allow_nan=False,
            separators=(",", ":"),
        )  # fmt: skip
        size = len(text.encode("utf-8"))
    except (TypeError, ValueError, RecursionError) as error:
        raise PublishError("payload", payload, f"it has no form in JSON ({error})") from error
    if "\\u0000" in text and "\0" in _texts(payload):
        raise PublishError("payload", payload, "PostgreSQL keeps no NUL character in JSON")
    if size > PAYLOAD_BYTES:
        raise PayloadTooLargeError(size, PAYLOAD_BYTES)
    return text


def _texts(value: Any) -> str:
    """Return all text of a payload, keys too, to look for a character in it."""
    match value:
        case str():
            return value
        case dict():
            return "".join(_texts(part) for pair in value.items() for part in pair)
        case list() | tuple():
            return "".join(_texts(part) for part in value)
    return ""
