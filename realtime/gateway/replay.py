"""What a client that was away has missed."""

from __future__ import annotations

from django.db import connection

from realtime.bus import Kind, Message, Mode, decode
from realtime.statements import statement

# Beyond it, reading the topic anew is cheaper for both sides.
MOST = 1000

Missed = list[tuple[int, Message]]


def missed(topic: str, *, last: int, user_key: str) -> Missed | None:
    """
    Return what the user has missed on the topic since that number, in order.

    None when that cannot be told: the number is not on the bus any more, it is too much, or
    something is among it that is never told again. Then the client reads the topic anew.
    """
    with connection.cursor() as cursor:
        cursor.execute(statement("bus_replay"), {"last": last, "topic": topic, "most": MOST + 1})
        rows = cursor.fetchall()
    if not rows or len(rows) > MOST:
        return None
    found = [(number, decode(text)) for number, text in rows if number is not None]
    concerning = [(number, message) for number, message in found if _concerns(message, user_key)]
    if any(message.kind is not Kind.EVENT or not message.replayable for _, message in concerning):
        return None
    return concerning


def _concerns(message: Message, user_key: str) -> bool:
    match message.recipients.mode:
        case Mode.TOPIC:
            return True
        case Mode.USERS:
            return user_key in message.recipients.keys
        case Mode.SIDS:
            # It may have been this user's socket, which is gone: nobody can say any more.
            return True
