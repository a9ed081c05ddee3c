"""Puts messages on the bus as the outbox worker does."""

from __future__ import annotations

from typing import Any

from django.db import connection

from realtime.bus import Message, Recipients, encode, event_message

SEND = """
WITH sent AS (
    INSERT INTO realtime_bus (sender, topic, message) VALUES (%s, %s, %s) RETURNING id, message
)
SELECT id, pg_notify('realtime_bus', CASE WHEN octet_length(message) <= 7800
    THEN '1 ' || id || ' ' || message ELSE '2 ' || id END) FROM sent
"""


def send(message: Message) -> int:
    """Put a message on the bus; return its number."""
    with connection.cursor() as cursor:
        cursor.execute(SEND, ["a test", message.topic, encode(message)])
        return int(cursor.fetchone()[0])


def say(topic: str, payload: Any, *, to: Recipients | None = None) -> int:
    """Put an event on the bus, for everyone unless told otherwise; return its number."""
    recipients = to or Recipients.everyone()
    return send(event_message(topic, event="update", payload=payload, recipients=recipients))
