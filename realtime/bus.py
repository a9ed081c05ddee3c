"""
What crosses the bus: one message for one topic, as the text of a row of ``realtime_bus``.

A row has a number (its ``id``), the ``txid`` and the ``snapshot`` of the transaction that
wrote it, its ``topic`` and the ``message`` made here. Its writer notifies ``CHANNEL`` in the
same statement, with the text as long as it fits, else with the number alone:

    SELECT pg_notify('realtime_bus', CASE WHEN octet_length(message) <= 7800
        THEN '1 ' || id || ' ' || message ELSE '2 ' || id END)

PostgreSQL's limit of 8,000 counts bytes, not characters.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from realtime.errors import BusTextError, EmptyRecipientsError

CHANNEL = "realtime_bus"
INLINE_BYTES = 7800


class Kind(StrEnum):
    """What the client is told."""

    EVENT = "event"  # something happened; with its payload
    LEAVE = "leave"  # a row is out of sight; its id and nothing else
    RESYNC = "resync"  # what was missed cannot be told: read the topic anew


class Mode(StrEnum):
    """Which of the topic's subscribers a message is for."""

    TOPIC = "topic"  # all of them
    USERS = "users"  # those signed in as one of the users
    SIDS = "sids"  # those on one of the sockets


@dataclass(frozen=True, kw_only=True)
class Recipients:
    """Whom a message is for. Nobody is no recipient: such a message is not made."""

    mode: Mode
    keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.mode is Mode.TOPIC) == bool(self.keys):
            raise EmptyRecipientsError(self.mode.value, self.keys)

    @classmethod
    def everyone(cls) -> Self:
        """All subscribers of the topic."""
        return cls(mode=Mode.TOPIC)

    @classmethod
    def users(cls, *keys: str) -> Self:
        """The subscribers that are signed in as one of these users (keys as text)."""
        return cls(mode=Mode.USERS, keys=keys)

    @classmethod
    def sids(cls, *sids: str) -> Self:
        """The subscribers on these sockets."""
        return cls(mode=Mode.SIDS, keys=sids)


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message of the bus, without its number."""

    kind: Kind
    topic: str
    recipients: Recipients
    event: str = ""  # of EVENT
    payload: Any = None  # of EVENT; the id of the row for LEAVE
    # A restricted delete is for the sockets that saw the row; it is never told again.
    replayable: bool = True


def event_message(
    topic: str, *, event: str, payload: Any, recipients: Recipients, replayable: bool = True
) -> Message:
    """Return the message of an event; a restricted delete is not ``replayable``."""
    return Message(
        kind=Kind.EVENT,
        topic=topic,
        recipients=recipients,
        event=event,
        payload=payload,
        replayable=replayable,
    )


def leave_message(topic: str, *, object_id: Any, recipients: Recipients) -> Message:
    """Return the message that a row is out of sight."""
    return Message(
        kind=Kind.LEAVE,
        topic=topic,
        recipients=recipients,
        payload=object_id,
        replayable=False,
    )


def resync_message(topic: str, *, recipients: Recipients) -> Message:
    """Return the message that the topic should be read anew."""
    return Message(kind=Kind.RESYNC, topic=topic, recipients=recipients, replayable=False)


def encode(message: Message) -> str:
    """Return the text to be stored in ``realtime_bus.message``."""
    fields: dict[str, Any] = {
        "kind": message.kind.value,
        "topic": message.topic,
        "to": [message.recipients.mode.value, *message.recipients.keys],
    }
    if message.kind is Kind.EVENT:
        fields["event"] = message.event
    if message.kind is not Kind.RESYNC:
        fields["payload"] = message.payload
    if not message.replayable:
        fields["once"] = True
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def decode(text: str) -> Message:
    """Read what ``encode`` has written. Raises BusTextError."""
    try:
        fields = json.loads(text)
        mode, *keys = fields["to"]
        return Message(
            kind=Kind(fields["kind"]),
            topic=fields["topic"],
            recipients=Recipients(mode=Mode(mode), keys=tuple(keys)),
            event=fields.get("event", ""),
            payload=fields.get("payload"),
            replayable=not fields.get("once", False),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise BusTextError(text) from error


def split_notification(payload: str) -> tuple[int, str | None]:
    """
    Return the number of a row and its text, None when the row must be read.

    Raises BusTextError for what no writer of this bus has sent.
    """
    form, _, rest = payload.partition(" ")
    number, _, text = rest.partition(" ")
    if form not in ("1", "2") or not (number.isascii() and number.isdigit()):
        raise BusTextError(payload)
    return int(number), text if form == "1" else None
