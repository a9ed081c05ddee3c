"""Dead letters: rows that a dead worker left at their cap, and telling of them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from django.db import connections, transaction
from django.db.models import F, TextField, Value
from django.db.models.functions import Cast, Concat
from psycopg import sql

from jobs import clock
from jobs.claims.policy import ClaimPolicy, Counts
from jobs.claims.writes import compile_assignments
from jobs.statements import make_template
from jobs.transactions import write_shortly

logger = logging.getLogger(__name__)
MOST_AT_ONCE = 100
_BURY = sql.SQL(
    "UPDATE {queue} SET {assignments} WHERE {pk} = ANY (ARRAY(\n{rows}\n)) RETURNING {pk}"
)


def bury_exhausted(policy: ClaimPolicy) -> list[int]:
    """
    Turn stale rows at their cap into dead letters, which no arm may take; return their ids.

    At most 100 of them. A worker that dies on the last attempt leaves such a row behind.
    """
    connections[policy.using].ensure_connection()
    ids = sorted(write_shortly(policy.using, _statement(policy)))
    if ids:
        report_dead(policy, ids, "worker_died")
    return ids


def report_dead(policy: ClaimPolicy, ids: Sequence[int], error: str) -> None:
    """Tell of dead letters once they are committed: whom the policy names, or the log."""
    if policy.on_dead is None:
        for row_id in ids:
            logger.error("dead_letter queue=%s id=%s error=%s", policy.queue, row_id, error)
        return
    try:
        policy.on_dead(ids)
    except Exception:  # the rows are dead letters already, whatever becomes of the news
        logger.exception("dead_letter queue=%s ids=%s error=%s", policy.queue, list(ids), error)


def _statement(policy: ClaimPolicy) -> str:
    """Return the complete statement; each pass runs it, so it is composed once."""
    key = ("burial", clock.frozen_at())
    text = policy.compiled.get(key)
    if text is None:
        with transaction.atomic(using=policy.using):  # FOR UPDATE compiles inside one only
            text = policy.compiled[key] = _compile(policy)
    assert isinstance(text, str)
    return text


def _compile(policy: ClaimPolicy) -> str:
    spent = (
        policy.model._default_manager.using(policy.using)
        .filter(policy.lost)
        .order_by("id")
        .select_for_update(skip_locked=True)
        .values("pk")[:MOST_AT_ONCE]
    )
    rows, bound = spent.query.get_compiler(policy.using).as_sql()
    assignments, parameters = compile_assignments(policy, _buried(policy))
    complete = _BURY.format(
        queue=sql.Identifier(policy.queue),
        assignments=assignments,
        pk=sql.Identifier(policy.pk_column),
        rows=sql.SQL(rows),  # compiled by Django, values apart
    ).as_string(None)
    connection = connections[policy.using]
    return make_template(complete, [*parameters, *bound], connection).fill({}, connection)


def _buried(policy: ClaimPolicy) -> dict[str, Any]:
    return dict.fromkeys(policy.model.CLAIM_COLUMNS) | {
        **policy.on_claim,
        **policy.on_bury,
        "status": policy.dead_status,
        "last_error": Concat(
            Value("The worker died "),
            Cast(_deaths(policy), TextField()),
            Value(" times while holding this row; given up.\n"),
            "last_error",
            output_field=TextField(),
        ),
    }


def _deaths(policy: ClaimPolicy) -> Any:
    if policy.counts is Counts.ON_CLAIM:
        return F("attempts")
    return F("stale_recoveries") + 1
