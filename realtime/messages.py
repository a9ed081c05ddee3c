"""What an event of the outbox becomes on the bus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from realtime import bus
from realtime.audience import Mode
from realtime.models import OutboxEvent


def messages_of(row: OutboxEvent, newcomers: Sequence[str] = ()) -> list[str]:
    """
    Return the messages of an event; none where there is nobody to tell.

    ``newcomers`` are sockets that subscribed after those of the audience were captured.
    """
    recipients = recipients_of(row.audience)
    found = [] if recipients is None else [_message(row, recipients)]
    if newcomers:
        found.append(bus.resync_message(row.topic, recipients=bus.Recipients.sids(*newcomers)))
    return [bus.encode(message) for message in found]


def recipients_of(audience: Mapping[str, Any]) -> bus.Recipients | None:
    """Return whom an audience means; None for nobody, which is not everybody."""
    match audience["mode"]:
        case Mode.ALL:
            return bus.Recipients.everyone()
        case Mode.RESTRICTED:
            if "sids" in audience:
                return bus.Recipients.sids(*audience["sids"]) if audience["sids"] else None
            return bus.Recipients.users(*audience["users"]) if audience["users"] else None
    return None


def _message(row: OutboxEvent, recipients: bus.Recipients) -> bus.Message:
    match row.event:
        case "leave":
            return bus.leave_message(row.topic, object_id=row.payload["id"], recipients=recipients)
        case "resync":
            return bus.resync_message(row.topic, recipients=recipients)
    return bus.event_message(
        row.topic,
        event=row.event,
        payload=row.payload,
        recipients=recipients,
        # A socket that was captured never comes back under its id.
        replayable="sids" not in row.audience,
    )
