"""
The fenced write: one UPDATE by ids and claim token.

Composed here rather than by ``QuerySet.update`` because only RETURNING says which rows
were still held, and because a mail makes two of them.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connections
from django.db.models.sql import Query
from psycopg import sql

from jobs import clock
from jobs.claims.limit import fence
from jobs.claims.policy import ClaimPolicy
from jobs.statements import Template, Variable, make_template

IDS = Variable("ids")
TOKEN = Variable("token")
# Forms beyond which the known ones are forgotten: each jittered delay is one of its own.
MOST_FORMS = 200
_UPDATE = sql.SQL(
    "UPDATE {queue} SET {assignments}"
    " WHERE {pk} = ANY(%s::bigint[]) AND claim_token = %s{fence} RETURNING {pk}"
)

_BOTH = sql.SQL("WITH one AS ({}), other AS ({}) TABLE one UNION ALL TABLE other")


@dataclass(frozen=True, kw_only=True)
class WriteForm:
    """A fenced write of certain columns: its text, and the variable of each plain value."""

    template: Template
    variables: Mapping[str, Variable]


def fenced_update(
    policy: ClaimPolicy, ids: Iterable[int], token: uuid.UUID, values: Mapping[str, Any]
) -> str:
    """
    Return the statement that writes columns of rows that the token still holds.

    ``values`` maps field names to plain values or to expressions of the row as it was.
    The statement returns the ids of the rows that it changed.
    """
    connection = connections[policy.using]
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    form = _form(policy, values)
    given: dict[Variable, Any] = {IDS: f"{{{','.join(map(str, ids))}}}", TOKEN: token}
    for name, variable in form.variables.items():
        field: Any = policy.model._meta.get_field(name)
        given[variable] = field.get_db_prep_save(values[name], connection=connection)
    return form.template.fill(given, connection)


def both(first: str, second: str) -> str:
    """Return one statement of two fenced updates of a queue, which write different rows."""
    return _BOTH.format(sql.SQL(first), sql.SQL(second)).as_string(None)


def compile_assignments(
    policy: ClaimPolicy, values: Mapping[str, Any]
) -> tuple[sql.Composable, list[Any]]:
    """Return ``column = …`` terms and their parameters."""
    connection = connections[policy.using]
    query = policy.model._default_manager.using(policy.using).all().query
    compiler = query.get_compiler(policy.using)
    terms: list[sql.Composable] = []
    parameters: list[Any] = []
    for name, value in values.items():
        field: Any = policy.model._meta.get_field(name)
        column = sql.Identifier(field.column)
        if hasattr(value, "resolve_expression"):
            text, bound = compiler.compile(value.resolve_expression(query, allow_joins=False))
            terms.append(sql.SQL("{} = {}").format(column, sql.SQL(text)))
            parameters += bound
        else:
            terms.append(sql.SQL("{} = %s").format(column))
            parameters.append(
                value
                if isinstance(value, Variable)
                else field.get_db_prep_save(value, connection=connection)
            )
    return sql.SQL(", ").join(terms), parameters


def _form(policy: ClaimPolicy, values: Mapping[str, Any]) -> WriteForm:
    """Return the write of these columns, compiled once for all plain values."""
    shape = tuple((name, value if _is_constant(value) else ...) for name, value in values.items())
    key = (shape, clock.frozen_at())
    form = policy.write_forms.get(key)
    if form is None:
        if len(policy.write_forms) >= MOST_FORMS:
            policy.write_forms.clear()
        form = policy.write_forms[key] = _compile(policy, values)
    assert isinstance(form, WriteForm)
    return form


def _is_constant(value: Any) -> bool:
    return value is None or hasattr(value, "resolve_expression")


def _compile(policy: ClaimPolicy, values: Mapping[str, Any]) -> WriteForm:
    variables = {name: Variable(name) for name, value in values.items() if not _is_constant(value)}
    assignments, parameters = compile_assignments(policy, {**values, **variables})
    condition, demanded = _fence_sql(policy)
    text = _UPDATE.format(
        queue=sql.Identifier(policy.queue),
        assignments=assignments,
        pk=sql.Identifier(policy.pk_column),
        fence=condition,
    ).as_string(None)
    every = [*parameters, IDS, TOKEN, *demanded]
    template = make_template(text, every, connections[policy.using])
    return WriteForm(template=template, variables=variables)


def _fence_sql(policy: ClaimPolicy) -> tuple[sql.Composable, list[Any]]:
    condition = fence(policy)
    if not condition:
        return sql.SQL(""), []
    query = Query(policy.model, alias_cols=False)
    compiler = query.get_compiler(policy.using)
    text, values = compiler.compile(query.build_where(condition))
    return sql.SQL(" AND ") + sql.SQL(text), list(values)
