"""One statement per file of ``retention/sql``, filled with what a declaration says."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from django.db.models import BooleanField, Func, QuerySet, TextField
from psycopg import sql

from jobs.pruning import Along, Prunable
from jobs.statements import Variable

SQL = Path(__file__).resolve().parent / "sql"
KEY = "swept_key"
LIMIT, LAST, PLACES = Variable("limit"), Variable("last"), Variable("places")
Composed = tuple[str, list[Any]]  # a text with placeholders, and what they stand for


class Place(Func):
    """Where a row lies in its table."""

    template = "%(table)s.ctid"
    output_field = TextField()


class IsOnPage(Func):
    """Whether a key is on the page. As an array, so that the rows are looked up one by one."""

    template = "%(expressions)s = ANY (ARRAY (SELECT swept_key FROM page))"
    output_field = BooleanField()


class IsAtPlace(Func):
    """Whether a row lies at one of the places."""

    # An array of which the planner does not know the length: for thousands of places it would
    # sooner read the table from end to end.
    template = (
        "%(table)s.ctid = ANY (ARRAY (SELECT unnest(string_to_array(%(expressions)s, ' '))::tid))"
    )
    output_field = BooleanField()


def compose(name: str, prunable: Prunable, **parts: sql.Composable) -> str:
    """Return the statement of a file, with placeholders where its parts have them."""
    along = [_along(number, item) for number, item in enumerate(prunable.along)]
    key: Any = prunable.model._meta.pk
    statement = sql.SQL(_text(name)).format(
        rows=table_of(prunable),
        key=sql.Identifier(key.column),
        limit=sql.Placeholder(),
        cutoff=sql.Placeholder(),
        along=sql.Composed(along),
        **parts,
    )
    return statement.as_string(None)


def compiled(rows: QuerySet[Any]) -> Composed:
    """Return a query as Django compiles it; raises EmptyResultSet if no row can meet it."""
    text, parameters = rows.query.get_compiler(rows.db).as_sql()
    return text, list(parameters)


def compiled_condition(rows: QuerySet[Any]) -> Composed | None:
    """
    Return what stands after WHERE; None where it speaks of other tables too.

    Raises EmptyResultSet if no row can meet it.
    """
    compiler: Any = rows.query.get_compiler(rows.db)
    text, parameters = compiler.compile(rows.query.where)
    if any(table != rows.model._meta.db_table for table in rows.query.alias_map):
        return None
    return text, list(parameters)


def places_of(prunable: Prunable, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return where the rows lie."""
    place = Place(table=table_of(prunable).as_string(None))
    places: QuerySet[Any] = rows.annotate(swept_place=place).values_list("swept_place")
    return places


def table_of(prunable: Prunable) -> sql.Identifier:
    """Return the name of the table."""
    return sql.Identifier(prunable.model._meta.db_table)


def _along(number: int, along: Along) -> sql.Composable:
    field: Any = along.model._meta.get_field(along.column)
    return sql.SQL(
        ",\nalong_{number} AS (\n  DELETE FROM {table}"
        " WHERE {column} = ANY (ARRAY (SELECT swept_key FROM gone)) RETURNING 1\n)"
    ).format(
        number=sql.SQL(str(number)),
        table=sql.Identifier(along.model._meta.db_table),
        column=sql.Identifier(field.column),
    )


@cache
def _text(name: str) -> str:
    lines = (SQL / f"{name}.sql").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("--"))
