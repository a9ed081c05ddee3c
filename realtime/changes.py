"""
What is published of rows that were changed: seen before the change and after it.

Both looks and the change are one transaction, and the first look locks the rows, so that the
events of a row have their ids in the order of its changes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Model, QuerySet

from realtime import audience, outbox
from realtime.declarations import ModelDeclaration, Sight
from realtime.errors import PayloadTooLargeError
from realtime.outbox import USING, NewEvent
from realtime.sight import Captured, captured, readers_of

logger = logging.getLogger(__name__)
Readers = frozenset[str]
RESYNC = "resync"


def sight_of(declaration: ModelDeclaration, pks: Iterable[Any]) -> dict[Any, Readers]:
    """Lock those of the rows that are there; return who may read each."""
    rows = _rows(declaration, pks).select_for_update(no_key=True)
    return {row.pk: readers_of(declaration, row) for row in rows}


def publish_saved(
    declaration: ModelDeclaration, pks: Sequence[Any], *, before: Mapping[Any, Readers]
) -> list[int]:
    """
    Publish rows as they are now; ``before`` says who could read those that were there.

    Who has lost sight of a row is told to let go of it, and nothing of what it became.
    """
    rows = {row.pk: row for row in _rows(declaration, pks)}
    after = {pk: readers_of(declaration, row) for pk, row in rows.items()}
    lost = {pk: before.get(pk, frozenset()) - readers for pk, readers in after.items()}
    leavers = frozenset[str]().union(*lost.values())
    sockets = captured(declaration.topic, leavers) if leavers else None
    events = []
    for pk in (pk for pk in pks if pk in rows):
        if lost[pk] and sockets is not None:
            events.append(_leave(declaration, pk, sockets.audience(lost[pk])))
        event = "update" if pk in before else "insert"
        events.append(_saved(declaration, rows[pk], event, after[pk]))
    return outbox.write(events)


def publish_deleted(declaration: ModelDeclaration, pks: Sequence[Any]) -> list[int]:
    """Publish that rows go, before they are deleted in this transaction."""
    rows = list(_rows(declaration, pks).select_for_update())
    readers = {row.pk: readers_of(declaration, row) for row in rows}
    sockets = None
    if not isinstance(declaration.readers, Sight):
        sockets = captured(declaration.topic, frozenset[str]().union(*readers.values()))
    return outbox.write([_deleted(declaration, pk, readers[pk], sockets) for pk in readers])


def publish_resync(declaration: ModelDeclaration) -> list[int]:
    """Publish that so much has changed that the topic is to be read anew."""
    who = audience.nobody() if declaration.readers is Sight.NOBODY else audience.everyone()
    return outbox.write(
        [NewEvent(topic=declaration.topic, event=RESYNC, payload="{}", audience=who)]
    )


def _rows(declaration: ModelDeclaration, pks: Iterable[Any]) -> QuerySet[Any]:
    """Return rows in the order of their keys, in which all that lock them do so."""
    rows = declaration.model._base_manager.using(USING)
    return rows.filter(pk__in=list(pks)).order_by("pk")


def _saved(declaration: ModelDeclaration, row: Model, event: str, readers: Readers) -> NewEvent:
    match declaration.readers:
        case Sight.EVERYONE:
            who = audience.everyone()
        case Sight.NOBODY:
            who = audience.nobody()
        case _:
            who = audience.users(readers)
    try:
        payload = outbox.encoded(declaration.payload(row))
    except PayloadTooLargeError as error:
        # The change is not refused for it: who may see the row reads it.
        logger.warning("payload_too_large key=%s error=%s", declaration.key(row.pk), error)
        event, payload = RESYNC, "{}"
    return NewEvent(
        topic=declaration.topic,
        event=event,
        payload=payload,
        audience=who,
        ordering_key=declaration.key(row.pk),
    )


def _leave(declaration: ModelDeclaration, pk: Any, who: dict[str, Any]) -> NewEvent:
    return _id_alone(declaration, pk, "leave", who)


def _deleted(
    declaration: ModelDeclaration, pk: Any, readers: Readers, sockets: Captured | None
) -> NewEvent:
    if sockets is not None:
        who = sockets.audience(readers)
    elif declaration.readers is Sight.EVERYONE:
        who = audience.everyone()
    else:
        who = audience.nobody()
    return _id_alone(declaration, pk, "delete", who)


def _id_alone(declaration: ModelDeclaration, pk: Any, event: str, who: dict[str, Any]) -> NewEvent:
    return NewEvent(
        topic=declaration.topic,
        event=event,
        payload=outbox.encoded({"id": pk}),
        audience=who,
        ordering_key=declaration.key(pk),
    )
