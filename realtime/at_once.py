"""
Delivery without a claim.

Most events need nothing but to be put on the bus. The database does that by itself: one
function locks them, completes them and writes their messages, in one transaction. Nothing is
ever in the hands of a worker that could die or stand still, so nothing has to be fenced. What
needs more (see ``sql/deliver_at_once.sql``) it leaves to the claim.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db import DatabaseError, InterfaceError, connections

from jobs.claims import ClaimPolicy
from jobs.claims.pace import Watermark
from jobs.context import RunContext
from jobs.identity import process_name
from jobs.loglimit import LineLimit
from jobs.outage import is_outage
from jobs.transactions import run_shortly
from jobs.workers.queue_pass import Next
from realtime import conf
from realtime.bus import INLINE_BYTES

logger = logging.getLogger(__name__)
START = Watermark(place=("-infinity", 0))
CALL = "SELECT * FROM realtime_deliver_at_once(%s, %s, %s, %s, %s, %s)"
_lines = LineLimit()


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one call has done."""

    looked: int  # at so many pending events
    completed: int
    last: Watermark | None  # where it ended


def deliver_at_once(context: RunContext, policy: ClaimPolicy) -> Next:
    """
    Deliver the next events that need no claim; return what is next.

    With a batch of one there are only claims. What the database refuses is left to them: they
    tell the events apart, and count their attempts.
    """
    if policy.batch == 1 or not policy.pace.is_quick:
        return Next.CLAIM
    try:
        answer = _call(policy)
    except (DatabaseError, InterfaceError) as error:
        policy.pace.reset()
        if is_outage(error):
            raise
        if _lines.allows():
            logger.warning("delivery_at_once_failed error=%s", type(error).__name__)
        return Next.CLAIM
    if answer.completed:
        context.tally(claimed=answer.completed, done=answer.completed)
    return _next(policy, answer)


def _next(policy: ClaimPolicy, answer: Answer) -> Next:
    pace = policy.pace
    if answer.completed < answer.looked:
        pace.reset()
        return Next.CLAIM
    if answer.looked == policy.batch:
        pace.quick_look(full=True, last=answer.last)
        return Next.AGAIN
    if answer.looked or pace.after is not None:
        # From the beginning, where what was long in committing lies, or waited for these.
        pace.after = None
        return Next.AGAIN
    # What was lost or is to be tried again waits for the poll, if that is not held up.
    if time.monotonic() - pace.looked_at < conf.POLL_MS.get() / 1000:
        pace.is_rested = True
        return Next.END
    pace.reset()
    return Next.CLAIM


def _call(policy: ClaimPolicy) -> Answer:
    after = policy.pace.after or START
    connections[policy.using].ensure_connection()
    values = (policy.batch, process_name(), INLINE_BYTES, *after.place, after.floor)
    (((looked, completed, last_at, last_id, lowest, _),),) = run_shortly(
        policy.using, _statement(policy.using, values)
    )
    last = Watermark(place=(last_at, last_id), floor=lowest - 1) if looked else None
    return Answer(looked=looked, completed=completed, last=last)


@lru_cache(maxsize=8)
def _statement(using: str, values: tuple[Any, ...]) -> str:
    """Return the call; on an idle system it is the same each time."""
    operations: Any = connections[using].ops
    return str(operations.compose_sql(CALL, values))
