"""
The statements of a sweep, composed from a declaration.

Which rows are due is a queryset, so that a project says it in Django's terms; around it stands
one statement per file of ``retention/sql``.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, F, Func, QuerySet, TextField
from django.db.models.expressions import RawSQL
from psycopg import sql

from jobs.claims.template import Template, Variable, make_template
from jobs.pruning import Along, Condition, Prunable

SQL = Path(__file__).resolve().parent / "sql"
KEY = "swept_key"
LIMIT, LAST = Variable("limit"), Variable("last")
Composed = tuple[str, list[Any]]  # a text with placeholders, and what they stand for


class Place(Func):
    """Where a row lies in its table."""

    template = "%(table)s.ctid"
    output_field = TextField()


class IsOnPage(Func):
    """Whether a key is on the page. As an array, so that the rows are looked up one by one."""

    template = "%(expressions)s = ANY (ARRAY (SELECT swept_key FROM page))"
    output_field = BooleanField()


@dataclass(frozen=True, kw_only=True)
class DueRows:
    """The due rows of a declaration: with a cutoff, and the condition as it was at the start."""

    prunable: Prunable
    condition: Condition
    cutoff: dt.datetime

    @property
    def using(self) -> str:
        """The database that holds them."""
        return router.db_for_write(self.prunable.model)

    @property
    def is_walked_by_key(self) -> bool:
        """Whether the age is another row's, so that no index has these in its order."""
        return "__" in self.prunable.age_column

    def rows(self) -> QuerySet[Any]:
        """Return the due rows, in no order: strictly older than the cutoff."""
        older = {f"{self.prunable.age_column}__lt": self.cutoff}
        return self._all().filter(self.condition).filter(**older)

    def batch(self, *, limit: int, last: Any = None) -> str | None:
        """
        Return the statement that deletes the next batch, complete; None when none can be due.

        ``last`` is where the batch before it ended. Its row says how many were deleted,
        whether there may be more, and where it ended.
        """
        template = self._first_batch if last is None else self._further_batch
        if template is None:
            return None
        return template.fill({LIMIT: limit, LAST: last}, self._connection)

    def probe(self, *, last: Any = None) -> str | None:
        """Return the query for one due row from there on that nobody has locked."""
        rows = self._in_order(last).values_list("pk")[:1]
        ending = sql.SQL("\nFOR UPDATE OF {rows} SKIP LOCKED").format(rows=self._table)
        try:
            text, parameters = self._compiled(rows)
        except EmptyResultSet:
            return None
        complete = (sql.SQL(text) + ending).as_string(None)
        return make_template(complete, parameters, self._connection).fill({}, self._connection)

    # Composed once: Django takes as long for it as the server for a few hundred rows.
    @cached_property
    def _first_batch(self) -> Template | None:
        return self._make_template(None)

    @cached_property
    def _further_batch(self) -> Template | None:
        return self._make_template(RawSQL("%s", [LAST]))

    def _make_template(self, last: RawSQL | None) -> Template | None:
        compose = self._compose_page if self.is_walked_by_key else self._compose_batch
        try:
            text, parameters = compose(last)
        except EmptyResultSet:
            return None
        return make_template(text, parameters, self._connection)

    def _compose_batch(self, last: RawSQL | None) -> Composed:
        text, parameters = self._compiled(self._places(self._in_order(last)))
        age: Any = self.prunable.model._meta.get_field(self.prunable.age_column)
        text = self._fill("sweep_batch", due=sql.SQL(text), age=sql.Identifier(age.column))
        return text, [*parameters, LIMIT]

    def _compose_page(self, last: RawSQL | None) -> Composed:
        keys = self._all() if last is None else self._all().filter(pk__gt=last)
        page = keys.annotate(**{KEY: F("pk")}).order_by("pk").values_list(KEY)
        due = self._places(self.rows().filter(IsOnPage(F("pk"))))
        page_text, page_parameters = self._compiled(page)
        due_text, due_parameters = self._compiled(due)
        text = self._fill("sweep_page", page=sql.SQL(page_text), due=sql.SQL(due_text))
        return text, [*page_parameters, LIMIT, *due_parameters]

    def _all(self) -> QuerySet[Any]:
        return self.prunable.model._base_manager.using(self.using)

    def _in_order(self, last: Any) -> QuerySet[Any]:
        column = "pk" if self.is_walked_by_key else self.prunable.age_column
        rows = self.rows()
        # The rows of that very age are looked at again: the batch may have ended among them.
        onward = rows if last is None else rows.filter(**{f"{column}__gte": last})
        return onward.order_by(column)

    def _places(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        place = Place(table=self._table.as_string(None))
        places: QuerySet[Any] = rows.annotate(swept_place=place).values_list("swept_place")
        return places

    def _fill(self, name: str, **parts: sql.Composable) -> str:
        along = [_along(number, item) for number, item in enumerate(self.prunable.along)]
        key: Any = self.prunable.model._meta.pk
        statement = sql.SQL(_text(name)).format(
            rows=self._table,
            key=sql.Identifier(key.column),
            limit=sql.Placeholder(),
            along=sql.Composed(along),
            **parts,
        )
        return statement.as_string(None)

    def _compiled(self, rows: QuerySet[Any]) -> Composed:
        text, parameters = rows.query.get_compiler(self.using).as_sql()
        return text, list(parameters)

    @property
    def _connection(self) -> BaseDatabaseWrapper:
        connection = connections[self.using]
        connection.ensure_connection()  # its rules decide how values are written
        return connection

    @property
    def _table(self) -> sql.Identifier:
        return sql.Identifier(self.prunable.model._meta.db_table)


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
    return (SQL / f"{name}.sql").read_text(encoding="utf-8")
