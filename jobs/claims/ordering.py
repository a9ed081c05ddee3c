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
from jobs.claims.template import Variable

# Every unfinished row of the queue has a greater id, as the claim before has seen it. Without
# it each look at a key would step over the dead entries of all rows that were done since an
# old snapshot was taken.
FLOOR = Variable("floor")
_UNFINISHED = sql.SQL(
    "({row}.status IN ('pending', 'processing') OR {row}.next_retry_at IS NOT NULL)"
)
_FIRST_OF_KEY = sql.SQL(
    "(SELECT {what} FROM {queue} AS earlier"
    " WHERE earlier.{key} = {queue}.{key} AND {unfinished}{above_floor}"
    " ORDER BY earlier.{pk} LIMIT 1)"
)
_LEADER_IS_FREE = sql.SQL(
    "earlier.status = 'pending' AND earlier.next_retry_at IS NULL AND {leader} <= {row}"
)
_BLOCKED = sql.SQL(
    "blocked (key, id) AS MATERIALIZED (\n"
    "  SELECT keys.key, (\n"
    "    SELECT earlier.{pk} FROM {queue} AS earlier\n"
    "    WHERE earlier.{key} = keys.key AND {unfinished}{above_floor}\n"
    "      AND earlier.{pk} NOT IN (SELECT id FROM pending)\n"
    "    ORDER BY earlier.{pk} LIMIT 1\n"
    "  ) FROM (SELECT DISTINCT key FROM pending) AS keys\n)"
)
_UNBLOCKED = sql.SQL(
    " WHERE NOT EXISTS (SELECT 1 FROM blocked"
    " WHERE blocked.key = pending.key AND blocked.id < pending.id)"
)
_LOWEST = sql.SQL(
    "(SELECT earlier.{pk} FROM {queue} AS earlier WHERE {unfinished}{above_floor}"
    " ORDER BY earlier.{pk} LIMIT 1)"
)


class MayGoNow(Func):
    """True for a row of an arm that waits for no other one, as far as one row can tell."""

    output_field = BooleanField()

    def __init__(self, policy: ClaimPolicy, arm: Arm, *, onward: bool) -> None:
        super().__init__()
        self._policy, self._arm, self._onward = policy, arm, onward

    def as_sql(self, *_args: Any, **_options: Any) -> tuple[str, Any]:
        condition = _of_pending if self._arm.name == "pending" else _of_others
        text = condition(self._policy, onward=self._onward).as_string(None)
        return text, floor_parameters(onward=self._onward)


def blocked_rows(policy: ClaimPolicy, *, onward: bool) -> sql.Composable:
    """Return the CTE of each locked key's first row that could not be locked."""
    return _BLOCKED.format(**_names(policy, onward=onward))


def is_unblocked() -> sql.Composable:
    """Return the condition of locked rows by that CTE."""
    return _UNBLOCKED


def lowest_unfinished(policy: ClaimPolicy, *, onward: bool) -> sql.Composable:
    """Return the expression of the smallest id that is not finished."""
    return _LOWEST.format(**_names(policy, onward=onward))


def floor_parameters(*, onward: bool) -> list[Any]:
    """Return the parameters of each of these texts."""
    return [FLOOR] if onward else []


def _of_pending(policy: ClaimPolicy, *, onward: bool) -> sql.Composable:
    """
    The key's first row is pending and this row or one that the arm has come to before.

    Were it still ahead, the limit could cut it off and leave only rows that wait for it.
    """
    what = _LEADER_IS_FREE.format(
        leader=_place(policy, sql.SQL("earlier")), row=_place(policy, sql.Identifier(policy.queue))
    )
    return _first_of_key(policy, what, onward=onward) + sql.SQL(" IS NOT FALSE")


def _of_others(policy: ClaimPolicy, *, onward: bool) -> sql.Composable:
    """The key's first row is this one."""
    own = sql.SQL("{queue}.{pk}").format(**_names(policy, onward=onward))
    what = sql.SQL("earlier.{pk} = {own}").format(own=own, pk=sql.Identifier(policy.pk_column))
    return _first_of_key(policy, what, onward=onward) + sql.SQL(" IS NOT FALSE")


def _first_of_key(policy: ClaimPolicy, what: sql.Composable, *, onward: bool) -> sql.Composable:
    return _FIRST_OF_KEY.format(what=what, **_names(policy, onward=onward))


def _place(policy: ClaimPolicy, row: sql.Composable) -> sql.Composable:
    columns = [policy.column_of(name) for name in policy.order]
    terms = sql.SQL(", ").join(sql.SQL("{}.{}").format(row, sql.Identifier(c)) for c in columns)
    return sql.SQL("({})").format(terms)


def _names(policy: ClaimPolicy, *, onward: bool) -> dict[str, sql.Composable]:
    assert policy.order_key is not None
    pk = sql.Identifier(policy.pk_column)
    above = sql.SQL(" AND earlier.{pk} > %s").format(pk=pk) if onward else sql.SQL("")
    return {
        "queue": sql.Identifier(policy.queue),
        "pk": pk,
        "key": sql.Identifier(policy.column_of(policy.order_key)),
        "unfinished": _UNFINISHED.format(row=sql.SQL("earlier")),
        "above_floor": above,
    }
