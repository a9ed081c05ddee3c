"""Publishing an event by hand. Declared models publish their changes by themselves."""

from __future__ import annotations

from typing import Any

from realtime import declarations, outbox
from realtime.audience import GONE, Mode, checked
from realtime.errors import PublishError
from realtime.topics import is_topic

EVENT_LENGTH = 100
KEY_LENGTH = 300
# What the gateway says by itself.
RESERVED = ("leave", "resync")


def publish(
    topic: str,
    *,
    event: str,
    payload: Any,
    audience: dict[str, Any],
    ordering_key: str | None = None,
) -> int:
    """
    Write one event into the outbox, in the caller's transaction; return its id.

    A rollback leaves nothing of it. ``payload`` is anything that has a form in JSON, up to
    1 MB of it. ``audience`` is ``{"mode": "all"}``, ``{"mode": "disabled"}``, or
    ``{"mode": "restricted", "users": [keys as text]}`` on the topic of a declared model.

    Events of one ``ordering_key`` are delivered in the order in which they were written. Call
    it after the row that the event speaks of is locked (saved, or read by
    ``select_for_update``): earlier means the smaller id. Raises PublishError.
    """
    _check_names(topic, event, ordering_key)
    kept = checked(event, audience)
    if kept["mode"] == Mode.RESTRICTED and declarations.of_topic(topic) is None:
        advice = (
            f"no model is declared for the topic {topic!r}, so nobody's sight is known: "
            "use 'all' or 'disabled', or declare the model"
        )
        raise PublishError("audience", audience, advice)
    if event in GONE and not _is_id_alone(payload):
        raise PublishError("payload", payload, 'of a delete only the id goes out: {"id": …}')
    new = outbox.NewEvent(
        topic=topic,
        event=event,
        payload=outbox.encoded(payload),
        audience=kept,
        ordering_key=ordering_key,
    )
    (row_id,) = outbox.write([new])
    return row_id


def _check_names(topic: object, event: object, ordering_key: object) -> None:
    if not is_topic(topic):
        raise PublishError("topic", topic, "a topic is printable text of 1 to 200 characters")
    if not _is_name(event, EVENT_LENGTH) or event in RESERVED:
        advice = (
            f"an event is printable text of 1 to {EVENT_LENGTH} characters, and not one of the "
            f"gateway's own: {', '.join(RESERVED)}"
        )
        raise PublishError("event", event, advice)
    if ordering_key is not None and not _is_name(ordering_key, KEY_LENGTH):
        advice = f"an ordering key is printable text of 1 to {KEY_LENGTH} characters, or None"
        raise PublishError("ordering_key", ordering_key, advice)


def _is_name(value: object, length: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= length and value.isprintable()


def _is_id_alone(payload: object) -> bool:
    return isinstance(payload, dict) and set(payload) == {"id"}
