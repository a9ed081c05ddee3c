"""
Delivery: a claim's events onto the bus.

The events of a claim go in one statement, which is all or nothing. If it fails they go one by
one: an event that fails is retried by the backoff, those after it with the same key are given
back and wait for it, the others are delivered.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from django.db import connections

from jobs.claims import Claim
from jobs.context import RunContext
from jobs.identity import process_name
from jobs.outage import is_outage, persist
from jobs.transactions import run_shortly, short_transaction
from realtime.audience import GONE
from realtime.bus import INLINE_BYTES
from realtime.messages import messages_of
from realtime.models import OutboxEvent
from realtime.statements import statement

logger = logging.getLogger(__name__)
# Of one statement, so that a claim of many large events does not fill the memory thrice.
STATEMENT_BYTES = 4_000_000

Letters = Sequence[tuple[OutboxEvent, Sequence[str]]]


def deliver(context: RunContext, claim: Claim) -> None:
    """Deliver all events of a claim, in their order."""
    rows = cast("list[OutboxEvent]", claim.rows)
    try:
        for part in _parts(_letters(claim, rows)):
            _put(context, claim, part)
    except Exception as error:
        if is_outage(error):
            raise
        logger.warning("delivery_split rows=%s error=%s", len(rows), type(error).__name__)
        _deliver_singly(context, claim, rows)


def _deliver_singly(context: RunContext, claim: Claim, rows: Iterable[OutboxEvent]) -> None:
    failed: set[str | None] = set()
    for row in (row for row in rows if claim.holds(row)):
        if row.ordering_key is not None and row.ordering_key in failed:
            context.tally(released=claim.release(row))
            continue
        try:
            _put(context, claim, _letters(claim, [row]))
        except Exception as error:
            if is_outage(error):
                raise
            logger.warning("delivery_failed id=%s error=%s", row.pk, type(error).__name__)
            context.tally(failed=claim.retry(row, error))
            failed.add(row.ordering_key)


def _letters(claim: Claim, rows: Sequence[OutboxEvent]) -> Letters:
    """Return each event with its messages."""
    newcomers = _newcomers(claim, rows)
    return [(row, messages_of(row, newcomers.get(row.pk, ()))) for row in rows]


def _newcomers(claim: Claim, rows: Sequence[OutboxEvent]) -> Mapping[int, Sequence[str]]:
    """Return who is to read anew, by the events of rows that are gone or out of sight."""
    ids = [row.pk for row in rows if row.event in GONE and "readers" in row.audience]
    if not ids:
        return {}
    using = claim.policy.using
    with short_transaction(using), connections[using].cursor() as cursor:
        cursor.execute(statement("sessions_since_capture"), {"ids": ids})
        return dict(cursor.fetchall())


def _parts(letters: Letters) -> Iterator[Letters]:
    """Cut a claim into what one statement carries."""
    part: list[tuple[OutboxEvent, Sequence[str]]] = []
    size = 0
    for row, messages in letters:
        weight = sum(len(message) for message in messages)
        if part and size + weight > STATEMENT_BYTES:
            yield part
            part, size = [], 0
        part.append((row, messages))
        size += weight
    if part:
        yield part


def _put(context: RunContext, claim: Claim, letters: Letters) -> None:
    """Complete events and put their messages on the bus, or neither."""
    with claim.settlement(row.pk for row, _ in letters) as settlement:
        held = set(settlement.ids)
        sent = [(row, text) for row, texts in letters if row.pk in held for text in texts]
        values = {
            "ids": list(held),
            "token": claim.token,
            "sender": process_name(),
            "owners": [row.pk for row, _ in sent],
            "topics": [row.topic for row, _ in sent],
            "messages": [text for _, text in sent],
            "inline": INLINE_BYTES,
        }
        policy = claim.policy
        settlement.changed = persist(
            lambda: _execute(policy.using, values),
            using=policy.using,
            seconds=policy.expiry.ms / 1000,
        )
    lost = len(held) - len(settlement.changed)
    context.tally(done=len(settlement.changed), **({"lost": lost} if lost else {}))


def _execute(using: str, values: Mapping[str, Any]) -> set[int]:
    connection: Any = connections[using]
    connection.ensure_connection()
    # Composed here, it is one round trip, and not four.
    text = connection.ops.compose_sql(statement("outbox_deliver"), values)
    (rows,) = run_shortly(using, text)
    return {row_id for row_id, _ in rows}
