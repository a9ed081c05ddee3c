"""
The claim as one statement.

One materialised CTE per arm, each with its own partial index in claim order, united in a
last materialised CTE with ORDER BY and LIMIT, then UPDATE … FROM … RETURNING. A status
predicate beside ``IN (… LIMIT 5 …)`` claimed 50 rows for a limit of 5 under stale
statistics; one OR over both arms cannot use an index per arm (88 ms a claim at 500,000
pending rows, 0.9 ms in this form). The UPDATE finds its rows by an array of their ids: joined to
``due`` alone, a table of 20,000 rows was read as a whole for each claim.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connections, transaction
from django.db.models import BooleanField, Case, F, Func, QuerySet, Value, When
from django.db.models.expressions import OrderBy
from psycopg import sql

from jobs import clock
from jobs.claims import ordering
from jobs.claims.hydration import Hydration, converter_of
from jobs.claims.limit import in_work
from jobs.claims.policy import Arm, ClaimPolicy, Counts, Lease
from jobs.claims.writes import TOKEN, compile_assignments
from jobs.clock import ClockTime, from_now
from jobs.queues import QueueRow
from jobs.statements import Template, Variable, make_template


@dataclass(frozen=True, kw_only=True)
class ClaimStatement:
    """A compiled claim: text, constant parameters, and how to make rows of what returns."""

    text: str
    # Constants of the arms and of SET, with the claim's variables by name.
    parameters: tuple[Any, ...]
    template: Template
    # Where the columns of the order stand, if claims can go on where the last one ended.
    order_places: tuple[int, ...]
    # What the claim itself has written into each row, or the variable that it has.
    known: Mapping[str, Any]
    hydration: Hydration


WORKER = Variable("worker")
# The columns of the order, of the row that was claimed last.
AFTER = (Variable("after_0"), Variable("after_1"))


@dataclass(frozen=True, kw_only=True)
class ClaimForm:
    """Which rows one claim looks at."""

    limit: int
    with_suspects: bool = False
    # Leave stale rows out: they were looked at a moment ago.
    quick: bool = False
    # Leave rows out that are to be tried again, too: none was due a moment ago.
    fresh: bool = False
    # Begin after the row that was claimed last.
    onward: bool = False


class NoSuspect(Func):
    """True while the suspect arm found nothing; planned as a one-time filter."""

    template = "NOT EXISTS (SELECT 1 FROM suspect)"
    output_field = BooleanField()


class Onward(Func):
    """True for the rows after the one that was claimed last."""

    template = "(%(expressions)s) > (%(after)s)"
    output_field = BooleanField()

    def as_sql(self, *args: Any, **options: Any) -> tuple[str, Any]:
        after = AFTER[: len(self.get_source_expressions())]
        text, parameters = super().as_sql(*args, **options, after=", ".join("%s" for _ in after))
        return text, [*parameters, *after]


def claim_statement(policy: ClaimPolicy, form: ClaimForm) -> ClaimStatement:
    """Return the compiled claim; compiled once per policy, alias and form."""
    key = (form, clock.frozen_at())
    statement = policy.compiled.get(key)
    if statement is None:
        with transaction.atomic(using=policy.using):  # FOR UPDATE compiles inside one only
            statement = _compile(policy, form)
        policy.compiled[key] = statement
    assert isinstance(statement, ClaimStatement)
    return statement


def _compile(policy: ClaimPolicy, form: ClaimForm) -> ClaimStatement:
    parts: list[sql.Composable] = []
    parameters: list[Any] = []
    arms = _arms(policy, form)
    if policy.order_key is not None:
        parts.append(ordering.lowest_unfinished(policy))
        parameters.append(ordering.FLOOR)
    for arm, most in arms:
        text, values = _arm_sql(policy, arm, form, limit=most)
        parts.append(text)
        parameters += values
    if policy.order_key is not None:
        parts.append(ordering.blocked_rows(policy))
    names = [arm.name for arm, _ in arms]
    room, values = _room(policy, form.limit)
    parts.append(_united(policy, names, room))
    parameters += values
    written = _written(policy)
    assignments, values = compile_assignments(policy, written)
    parameters += values
    known = _known(written)
    fields = _fields(policy, known)
    lowest = "(SELECT id FROM lowest), " if policy.order_key is not None else ""
    statement = sql.SQL(
        "WITH {ctes}\nUPDATE {queue} SET {assignments}\nFROM due\n"
        "WHERE {queue}.{pk} = ANY (ARRAY(SELECT id FROM due)) AND {queue}.{pk} = due.id\n"
        "RETURNING {columns}, {lowest}due.position, due.arm"
    ).format(
        ctes=sql.SQL(",\n").join(parts),
        queue=sql.Identifier(policy.queue),
        assignments=assignments,
        pk=sql.Identifier(policy.pk_column),
        columns=sql.SQL(", ").join(sql.Identifier(policy.queue, field.column) for field in fields),
        lowest=sql.SQL(lowest),
    )
    complete = statement.as_string(None)
    return ClaimStatement(
        text=complete,
        parameters=tuple(parameters),
        template=make_template(complete, parameters, connections[policy.using]),
        order_places=_order_places(policy, fields),
        known=known,
        hydration=_hydration(policy, fields),
    )


def _hydration(policy: ClaimPolicy, fields: Sequence[Any]) -> Hydration:
    connection = connections[policy.using]
    converters = {}
    for place, field in enumerate(fields):
        convert = converter_of(field, field.get_col(policy.queue), connection)
        if convert is not None:
            converters[place] = convert
    return Hydration(
        model=policy.model,
        using=policy.using,
        attnames=tuple(field.attname for field in fields),
        converters=converters,
    )


def _order_places(policy: ClaimPolicy, fields: Sequence[Any]) -> tuple[int, ...]:
    names = [field.name for field in fields]
    if not policy.goes_by_age or not set(policy.order) <= set(names):
        return ()
    return tuple(names.index(name) for name in policy.order)


def _arms(policy: ClaimPolicy, form: ClaimForm) -> list[tuple[Arm, int]]:
    """Return the arms, and how many rows each may give."""
    arms = list(policy.due_arms if form.quick else policy.arms)
    if form.fresh:
        arms = arms[:1]  # the planner takes half as long for it
    if form.with_suspects:
        return [(policy.suspects, 1), *((arm, form.limit) for arm in arms)]
    return [(arm, form.limit) for arm in arms]


def _arm_sql(
    policy: ClaimPolicy, arm: Arm, form: ClaimForm, *, limit: int
) -> tuple[sql.Composable, list[Any]]:
    columns = {f"sort_{place}": _bare(term) for place, term in enumerate((*policy.sort, F("id")))}
    if policy.order_key is not None:
        columns["key"] = F(policy.order_key)
    rows: QuerySet[QueueRow, Any] = (
        policy.model._default_manager.using(policy.using)
        .filter(arm.rows)
        .order_by(*arm.order)
        .select_for_update(skip_locked=True)
    )
    if form.onward and arm.name == "pending":
        rows = rows.filter(Onward(*policy.order))
    if policy.order_key is not None:
        rows = rows.filter(ordering.MayGoNow(policy, arm))
    if form.with_suspects and arm.name != "suspect":
        rows = rows.filter(NoSuspect())
    query = rows.annotate(**columns).values_list("pk", *columns)[:limit].query
    text, values = query.get_compiler(policy.using).as_sql()
    head = sql.SQL("{name} (id, {columns}) AS MATERIALIZED (\n{body}\n)").format(
        name=sql.Identifier(arm.name),
        columns=sql.SQL(", ").join(sql.Identifier(name) for name in columns),
        body=sql.SQL(text),  # compiled by Django, values apart
    )
    return head, list(values)


def _room(policy: ClaimPolicy, limit: int) -> tuple[sql.Composable, list[Any]]:
    """Return how many rows the claim may take, as SQL."""
    if policy.most_in_work is None:
        return sql.Literal(limit), []
    query = in_work(policy).order_by().values("pk").query
    text, values = query.get_compiler(policy.using).as_sql()
    room = sql.SQL(
        "least({limit}, greatest(0, {most} - (SELECT count(*) FROM ({rows}) AS living)))"
    )
    rows = sql.SQL(text)  # compiled by Django, values apart
    return room.format(
        limit=sql.Literal(limit), most=sql.Literal(policy.most_in_work), rows=rows
    ), list(values)


def _united(policy: ClaimPolicy, names: list[str], room: sql.Composable) -> sql.Composable:
    terms = [
        sql.SQL("sort_{place} {way}").format(
            place=sql.SQL(str(place)), way=sql.SQL("DESC" if _descends(term) else "ASC")
        )
        for place, term in enumerate((*policy.sort, F("id")))
    ]
    order = sql.SQL(", ").join(terms)
    union = sql.SQL("\n    UNION ALL ").join(
        sql.SQL("SELECT *, {arm} AS arm FROM {name}{condition}").format(
            arm=sql.Literal(name),
            name=sql.Identifier(name),
            condition=ordering.is_unblocked()
            if policy.order_key is not None and name == "pending"
            else sql.SQL(""),
        )
        for name in names
    )
    return sql.SQL(
        "due AS MATERIALIZED (\n"
        "  SELECT id, arm, row_number() OVER (ORDER BY {order}) AS position\n"
        "  FROM ({union}) AS candidates\n"
        "  ORDER BY {order} LIMIT {room}\n)"
    ).format(order=order, union=union, room=room)


def _written(policy: ClaimPolicy) -> dict[str, Any]:
    """Return what a claim writes, by the names of the fields."""
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
    return {**values, **policy.on_claim}


def _known(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of it needs not be returned: what the server cannot have made another of."""
    known = {}
    for name, value in written.items():
        if isinstance(value, Variable):
            known[name] = value
        elif isinstance(value, Value) and (value.value is None or name == "status"):
            known[name] = value.value
    return known


def _one_if(**condition: Any) -> Case:
    return Case(When(**condition, then=Value(1)), default=Value(0))


def _bare(term: Any) -> Any:
    return term.expression if isinstance(term, OrderBy) else term


def _descends(term: Any) -> bool:
    return isinstance(term, OrderBy) and term.descending


def _fields(policy: ClaimPolicy, known: Collection[str]) -> list[Any]:
    """Return the fields whose columns the claim returns."""
    meta = policy.model._meta
    fields = [field for field in meta.concrete_fields if field.name not in known]
    if policy.columns is None:
        return fields
    wanted = {*policy.columns, meta.pk.name, "attempts"}
    return [field for field in fields if field.name in wanted]
