"""
A limit on the rows in work over all processes.

To count what is in work and then to claim is a race: two claims that count at once both find
room. So each claim of such a queue first takes an advisory lock of its transaction, and each
heartbeat takes it shared: what a claim counted as expired is not revived behind its back. A
write under an expired claim changes nothing on these queues, even if nobody took the row.
"""

from __future__ import annotations

from django.db.models import Q, QuerySet
from psycopg import sql

from jobs.claims.policy import ClaimPolicy
from jobs.clock import ClockTime, Now
from jobs.queues import QueueRow

_ALONE = sql.SQL("SELECT pg_advisory_xact_lock(hashtextextended({queue}, 0))")
_TOGETHER = sql.SQL("SELECT pg_advisory_xact_lock_shared(hashtextextended({queue}, 0))")


def claim_guard(policy: ClaimPolicy) -> tuple[str, ...]:
    """Return the statements that go before a claim in its transaction."""
    return _guard(policy, _ALONE)


def heartbeat_guard(policy: ClaimPolicy) -> tuple[str, ...]:
    """Return the statements that go before a heartbeat in its transaction."""
    return _guard(policy, _TOGETHER)


def in_work(policy: ClaimPolicy) -> QuerySet[QueueRow]:
    """Return the rows of living claims, in the eyes of a claim that begins now."""
    rows = policy.model._default_manager.using(policy.using)
    return rows.filter(Q(status="processing") & policy.expiry.is_alive(Now()))


def fence(policy: ClaimPolicy) -> Q:
    """Return what a write demands of its rows besides the claim token."""
    if policy.most_in_work is None:
        return Q()
    # Now() is the time at which the server was asked, before it waited for the lock.
    return policy.expiry.is_alive(ClockTime())


def _guard(policy: ClaimPolicy, lock: sql.SQL) -> tuple[str, ...]:
    if policy.most_in_work is None:
        return ()
    return (lock.format(queue=sql.Literal(f"engineroom {policy.queue}")).as_string(None),)
