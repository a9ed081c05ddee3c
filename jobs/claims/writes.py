"""
The fenced write: one UPDATE by ids and claim token.

Composed here rather than by ``QuerySet.update`` because only RETURNING says which rows
were still held, and because a mail makes three of them.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connections
from psycopg import sql

from jobs.claims.policy import ClaimPolicy

_UPDATE = sql.SQL(
    "UPDATE {queue} SET {assignments} WHERE {pk} = ANY(%s) AND claim_token = %s RETURNING {pk}"
)


def fenced_update(
    policy: ClaimPolicy, ids: Sequence[int], token: uuid.UUID, values: Mapping[str, Any]
) -> set[int]:
    """
    Write columns of rows that the token still holds; return the ids that it changed.

    ``values`` maps field names to plain values or to expressions of the row as it was.
    """
    assignments, parameters = compile_assignments(policy, values)
    text = _UPDATE.format(
        queue=sql.Identifier(policy.queue),
        assignments=assignments,
        pk=sql.Identifier(policy.model._meta.pk.column),
    ).as_string(None)
    with connections[policy.using].cursor() as cursor:
        cursor.execute(text, [*parameters, list(ids), token])
        return {row[0] for row in cursor.fetchall()}


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
        field = policy.model._meta.get_field(name)
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


class Variable:
    """A place among the parameters, filled in at each execution."""

    def __init__(self, name: str) -> None:
        self.name = name
