"""
Rows that wait for earlier ones of the same key.

SKIP LOCKED alone reorders what belongs together: with four workers, 60 of 1,500 events of a
record came before one that was written earlier. So the claim of a queue with an ``order_key``
leaves a row out while an earlier unfinished row (a smaller id) has the same key. Several
pending rows of a key are taken together if nothing between them is missing.

It is done in two steps. The arm passes over a row whose key's first unfinished row is in work
or waits for a retry: a long row of waiting ones would else fill the claim and hold up all other
keys. What the arm has locked then loses each row with an earlier one that it could not lock.
"""

from __future__ import annotations

from typing import Any

from django.db.models import BooleanField, Func
from psycopg import sql

from jobs.claims.policy import Arm, ClaimPolicy
from jobs.statements import Variable

# Every unfinished row of the queue had a greater id at the last claim; 0 where nothing is
# known. Looks at keys begin at the smallest one: else each of them would step over the dead
# entries of all rows that were done since an old snapshot was taken.
FLOOR = Variable("floor")
_UNFINISHED = sql.SQL(
    "(earlier.status IN ('pending', 'processing') OR earlier.next_retry_at IS NOT NULL)"
)
# Equality of the key would let the planner walk along the primary key, over all rows of
# others: it cannot know that the rows of one key lie far apart. Bounds of pairs leave it only
# the index of pairs.
_FIRST_OF_KEY = sql.SQL(
    "(SELECT {what} FROM {queue} AS earlier"
    " WHERE (earlier.{key}, earlier.{pk}) > ({queue}.{key}, (SELECT id - 1 FROM lowest))"
    " AND (earlier.{key}, earlier.{pk}) <= ({queue}.{key}, {queue}.{pk})"
    " AND {unfinished} AND earlier.{pk} > 0"
    " ORDER BY earlier.{key}, earlier.{pk} LIMIT 1) IS NOT FALSE"
)
_LEADER_IS_FREE = sql.SQL(
    "earlier.status = 'pending' AND earlier.next_retry_at IS NULL AND {leader} <= {row}"
)
_BLOCKED = sql.SQL(
    "blocked (key, id) AS MATERIALIZED (\n"
    "  SELECT keys.key, (\n"
    "    SELECT earlier.{pk} FROM {queue} AS earlier\n"
    "    WHERE (earlier.{key}, earlier.{pk}) > (keys.key, (SELECT id - 1 FROM lowest))\n"
    "      AND (earlier.{key}, earlier.{pk}) < (keys.key, keys.last)\n"
    "      AND {unfinished} AND earlier.{pk} > 0\n"
    "      AND earlier.{pk} NOT IN (SELECT id FROM pending)\n"
    "    ORDER BY earlier.{key}, earlier.{pk} LIMIT 1\n"
    "  ) FROM (SELECT key, max(id) AS last FROM pending GROUP BY key) AS keys\n)"
)
_UNBLOCKED = sql.SQL(
    " WHERE NOT EXISTS (SELECT 1 FROM blocked"
    " WHERE blocked.key = pending.key AND blocked.id < pending.id)"
)
_LOWEST = sql.SQL(
    "lowest (id) AS MATERIALIZED (\n"
    "  SELECT coalesce((\n"
    "    SELECT earlier.{pk} FROM {queue} AS earlier\n"
    "    WHERE {unfinished} AND earlier.attempts >= 0 AND earlier.{pk} > %s\n"
    "    ORDER BY earlier.{pk} LIMIT 1\n"
    "  ), 0)\n)"
)


class MayGoNow(Func):
    """True for a row of an arm that waits for no other one, as far as one row can tell."""

    output_field = BooleanField()

    def __init__(self, policy: ClaimPolicy, arm: Arm) -> None:
        super().__init__()
        self._policy, self._arm = policy, arm

    def as_sql(self, *_args: Any, **_options: Any) -> tuple[str, Any]:
        condition = _of_pending if self._arm.name == "pending" else _of_others
        return condition(self._policy).as_string(None), []


def lowest_unfinished(policy: ClaimPolicy) -> sql.Composable:
    """Return the CTE of the smallest id that is not finished; its parameter is the floor."""
    return _LOWEST.format(**_names(policy))


def blocked_rows(policy: ClaimPolicy) -> sql.Composable:
    """Return the CTE of each locked key's first row that was not locked."""
    return _BLOCKED.format(**_names(policy))


def is_unblocked() -> sql.Composable:
    """Return the condition of locked rows by that CTE."""
    return _UNBLOCKED


def _of_pending(policy: ClaimPolicy) -> sql.Composable:
    """
    The key's first row is pending and this row or one that the arm has come to before.

    Were it still ahead, the limit could cut it off and leave only rows that wait for it.
    """
    what = _LEADER_IS_FREE.format(
        leader=_place(policy, sql.SQL("earlier")), row=_place(policy, sql.Identifier(policy.queue))
    )
    return _first_of_key(policy, what)


def _of_others(policy: ClaimPolicy) -> sql.Composable:
    """The key's first row is this one."""
    what = sql.SQL("earlier.{pk} = {queue}.{pk}").format(**_names(policy))
    return _first_of_key(policy, what)


def _first_of_key(policy: ClaimPolicy, what: sql.Composable) -> sql.Composable:
    return _FIRST_OF_KEY.format(what=what, **_names(policy))


def _place(policy: ClaimPolicy, row: sql.Composable) -> sql.Composable:
    columns = [policy.column_of(name) for name in policy.order]
    terms = sql.SQL(", ").join(sql.SQL("{}.{}").format(row, sql.Identifier(c)) for c in columns)
    return sql.SQL("({})").format(terms)


def _names(policy: ClaimPolicy) -> dict[str, sql.Composable]:
    assert policy.order_key is not None
    return {
        "queue": sql.Identifier(policy.queue),
        "pk": sql.Identifier(policy.pk_column),
        "key": sql.Identifier(policy.column_of(policy.order_key)),
        "unfinished": _UNFINISHED,
    }
