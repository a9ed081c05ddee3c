"""
The claim as one statement.

One materialised CTE per arm, each with its own partial index in claim order, united in a
last materialised CTE with ORDER BY and LIMIT, then UPDATE … FROM … RETURNING. A status
predicate beside ``IN (… LIMIT 5 …)`` claimed 50 rows for a limit of 5 under stale
statistics; one OR over both arms cannot use an index per arm (88 ms a claim at 500,000
pending rows, 0.9 ms in this form).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connections, transaction
from django.db.models import BooleanField, Case, F, Func, QuerySet, Value, When
from django.db.models.expressions import OrderBy
from psycopg import sql

from jobs import clock
from jobs.claims.policy import Arm, ClaimPolicy, Counts, Lease
from jobs.claims.writes import Variable, compile_assignments
from jobs.clock import ClockTime, from_now
from jobs.queues import QueueRow


@dataclass(frozen=True, kw_only=True)
class ClaimStatement:
    """A compiled claim: text, constant parameters, and how to make rows of what returns."""

    text: str
    # Constants of the arms and of SET, with the claim's two variables by name.
    parameters: tuple[Any, ...]
    attnames: tuple[str, ...]
    converters: tuple[tuple[int, Sequence[Callable[..., Any]], Any], ...]


WORKER = Variable("worker")
TOKEN = Variable("token")


class NoSuspect(Func):
    """True while the suspect arm found nothing; planned as a one-time filter."""

    template = "NOT EXISTS (SELECT 1 FROM suspect)"
    output_field = BooleanField()


def claim_statement(policy: ClaimPolicy, *, limit: int, with_suspects: bool) -> ClaimStatement:
    """Return the compiled claim; compiled once per policy, alias, limit and form."""
    key = (limit, with_suspects, clock.frozen_at())
    statement = policy.compiled.get(key)
    if statement is None:
        with transaction.atomic(using=policy.using):  # FOR UPDATE compiles inside one only
            statement = _compile(policy, limit=limit, with_suspects=with_suspects)
        policy.compiled[key] = statement
    assert isinstance(statement, ClaimStatement)
    return statement


def _compile(policy: ClaimPolicy, *, limit: int, with_suspects: bool) -> ClaimStatement:
    parts: list[sql.Composable] = []
    parameters: list[Any] = []
    arms = [(arm, limit) for arm in policy.arms]
    if with_suspects:
        arms.insert(0, (policy.suspects, 1))
    for arm, most in arms:
        text, values = _arm_sql(policy, arm, limit=most, with_suspects=with_suspects)
        parts.append(text)
        parameters += values
    names = [arm.name for arm, _ in arms]
    parts.append(_united(policy, names, limit))
    assignments, values = _assignments(policy)
    parameters += values
    fields = _fields(policy)
    statement = sql.SQL(
        "WITH {ctes}\nUPDATE {queue} SET {assignments}\nFROM due\n"
        "WHERE {queue}.{pk} = due.id\nRETURNING {columns}, due.position, due.arm"
    ).format(
        ctes=sql.SQL(",\n").join(parts),
        queue=sql.Identifier(policy.queue),
        assignments=assignments,
        pk=sql.Identifier(policy.model._meta.pk.column),
        columns=sql.SQL(", ").join(sql.Identifier(policy.queue, field.column) for field in fields),
    )
    connection = connections[policy.using]
    converters = []
    for place, field in enumerate(fields):
        column = field.get_col(policy.queue)
        functions = [
            *connection.ops.get_db_converters(column),
            *column.get_db_converters(connection),
        ]
        if functions:
            converters.append((place, functions, column))
    return ClaimStatement(
        text=statement.as_string(None),
        parameters=tuple(parameters),
        attnames=tuple(field.attname for field in fields),
        converters=tuple(converters),
    )


def _arm_sql(
    policy: ClaimPolicy, arm: Arm, *, limit: int, with_suspects: bool
) -> tuple[sql.Composable, list[Any]]:
    sorts = {f"sort_{place}": _bare(term) for place, term in enumerate((*policy.sort, F("id")))}
    rows: QuerySet[QueueRow, Any] = (
        policy.model._default_manager.using(policy.using)
        .filter(arm.rows)
        .order_by(*arm.order)
        .select_for_update(skip_locked=True)
    )
    if with_suspects and arm.name != "suspect":
        rows = rows.filter(NoSuspect())
    query = rows.annotate(**sorts).values_list("pk", *sorts)[:limit].query
    text, values = query.get_compiler(policy.using).as_sql()
    head = sql.SQL("{name} (id, {sorts}) AS MATERIALIZED (\n{body}\n)").format(
        name=sql.Identifier(arm.name),
        sorts=sql.SQL(", ").join(sql.Identifier(name) for name in sorts),
        body=sql.SQL(text),  # type: ignore[arg-type]  # compiled by Django, values apart
    )
    return head, list(values)


def _united(policy: ClaimPolicy, names: list[str], limit: int) -> sql.Composable:
    terms = [
        sql.SQL("sort_{place} {way}").format(
            place=sql.SQL(str(place)), way=sql.SQL("DESC" if _descends(term) else "ASC")
        )
        for place, term in enumerate((*policy.sort, F("id")))
    ]
    order = sql.SQL(", ").join(terms)
    union = sql.SQL("\n    UNION ALL ").join(
        sql.SQL("SELECT *, {arm} AS arm FROM {name}").format(
            arm=sql.Literal(name), name=sql.Identifier(name)
        )
        for name in names
    )
    return sql.SQL(
        "due AS MATERIALIZED (\n"
        "  SELECT id, arm, row_number() OVER (ORDER BY {order}) AS position\n"
        "  FROM ({union}) AS candidates\n"
        "  ORDER BY {order} LIMIT {limit}\n)"
    ).format(order=order, union=union, limit=sql.Literal(limit))


def _assignments(policy: ClaimPolicy) -> tuple[sql.Composable, list[Any]]:
    values: dict[str, Any] = {
        "status": Value("processing"),
        "claimed_at": ClockTime(),
        "claimed_by": WORKER,
        "claim_token": TOKEN,
        "begun_at": ClockTime() if policy.whole_claims else Value(None),
        "next_retry_at": Value(None),
        "stale_recoveries": F("stale_recoveries")
        + _one_if(status="processing", begun_at__isnull=False),
    }
    if isinstance(policy.expiry, Lease):
        values["lease_expires_at"] = from_now(policy.expiry.ms)
    if policy.counts is Counts.ON_CLAIM:
        # A row that was claimed and never begun keeps the attempt it was given then.
        values["attempts"] = F("attempts") + 1 - _one_if(status="processing", begun_at__isnull=True)
    values |= policy.on_claim
    return compile_assignments(policy, values)


def _one_if(**condition: Any) -> Case:
    return Case(When(**condition, then=Value(1)), default=Value(0))


def _bare(term: Any) -> Any:
    return term.expression if isinstance(term, OrderBy) else term


def _descends(term: Any) -> bool:
    return isinstance(term, OrderBy) and term.descending


def _fields(policy: ClaimPolicy) -> list[Any]:
    meta = policy.model._meta
    if policy.columns is None:
        return list(meta.concrete_fields)
    wanted = {*policy.columns, meta.pk.name, "status", "attempts", "claim_token"}
    return [field for field in meta.concrete_fields if field.name in wanted]
