"""
The statements of a sweep, composed from a declaration.

Which rows are due is a queryset, so that a project says it in Django's terms; around it stands
one statement per file of ``retention/sql``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from django.core.exceptions import EmptyResultSet
from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, QuerySet
from django.db.models.expressions import RawSQL
from psycopg import sql

from jobs.pruning import Condition, Prunable
from jobs.statements import Template, Variable, make_template, release, send_planned
from retention.composing import (
    KEY,
    LAST,
    LIMIT,
    PLACES,
    Composed,
    IsAtPlace,
    IsOnPage,
    compiled,
    compiled_condition,
    compose,
    places_of,
    table_of,
)

T = TypeVar("T")
FROM_THE_FIRST = "-infinity"


@dataclass(frozen=True, kw_only=True)
class Range:
    """
    What deletes the next batch as a range of ages, and the query where that ended.

    It deletes nothing when more rows than the limit are of one age.
    """

    using: str
    template: Template
    end: str

    def deletion(self, *, limit: int, last: str | None) -> str:
        """Return the complete statement."""
        return self.template.fill(_range_values(limit, last), connections[self.using])

    def send_planned(self, send: Callable[[str], T], *, limit: int, last: str) -> T:
        """Send the statement in the form that the session keeps planned, where it may."""
        values = _range_values(limit, last)
        return send_planned(send, self.template, values, connections[self.using])

    def close(self) -> None:
        """Let the session forget it."""
        release(self.template, connections[self.using])


def _range_values(limit: int, last: str | None) -> dict[Variable, Any]:
    return {LIMIT: limit, LAST: FROM_THE_FIRST if last is None else last}


@dataclass(frozen=True, kw_only=True)
class DueRows:
    """The due rows of a declaration: with a cutoff, and the condition as it was at the start."""

    prunable: Prunable
    condition: Condition
    cutoff: dt.datetime

    @cached_property
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
        return self._filled(template, {LIMIT: limit, LAST: last})

    def crowd(self, *, limit: int, age: str) -> str | None:
        """Return the query where due rows of one age lie: so many places, blanks between them."""
        return self._filled(self._crowd, {LIMIT: limit, LAST: age})

    def at_places(self, places: str, *, limit: int) -> str | None:
        """Return the statement that deletes what is due at these places; its row is a batch's."""
        return self._filled(self._at_places, {LIMIT: limit, PLACES: places})

    def probe(self, *, last: Any = None) -> str | None:
        """Return the query for one due row from there on that nobody has locked."""
        begin = None if last is None else RawSQL("%s", [last])
        rows = self._in_order(begin).values_list("pk")[:1]
        ending = sql.SQL("\nFOR UPDATE OF {rows} SKIP LOCKED").format(rows=table_of(self.prunable))

        def composed() -> Composed:
            text, parameters = compiled(rows)
            return (sql.SQL(text) + ending).as_string(None), parameters

        return self._filled(self._make_template(composed), {})

    # Composed once: Django takes as long for it as the server for a few hundred rows.
    @cached_property
    def _first_batch(self) -> Template | None:
        return self._make_template(lambda: self._compose(None))

    @cached_property
    def _further_batch(self) -> Template | None:
        return self._make_template(lambda: self._compose(RawSQL("%s", [LAST])))

    @cached_property
    def _crowd(self) -> Template | None:
        return self._make_template(self._compose_crowd)

    @cached_property
    def _at_places(self) -> Template | None:
        places = IsAtPlace(RawSQL("%s", [PLACES]), table=table_of(self.prunable).as_string(None))
        return self._make_template(lambda: self._compose_batch(self.rows().filter(places)))

    @cached_property
    def range(self) -> Range | None:
        """
        What deletes a batch as a range of ages.

        None where rows go along, whose keys it does not return, or a due row is not known by
        its own table alone.
        """
        if self.is_walked_by_key or self.prunable.along:
            return None
        begin = {f"{self.prunable.age_column}__gte": RawSQL("%s", [LAST])}
        try:
            condition = compiled_condition(self._all().filter(self.condition, **begin))
        except EmptyResultSet:
            return None
        if condition is None:
            return None
        text, parameters = self._compose_range(condition)
        end = make_template(
            compose("sweep_range_end", self.prunable), [self.cutoff], self._connection
        )
        return Range(
            using=self.using,
            template=make_template(text, parameters, self._connection),
            end=end.fill({}, self._connection),
        )

    def _make_template(self, composed: Callable[[], Composed]) -> Template | None:
        try:
            text, parameters = composed()
        except EmptyResultSet:
            return None
        return make_template(text, parameters, self._connection)

    def _filled(self, template: Template | None, values: dict[Variable, Any]) -> str | None:
        return None if template is None else template.fill(values, self._connection)

    def _compose(self, last: RawSQL | None) -> Composed:
        if self.is_walked_by_key:
            return self._compose_page(last)
        return self._compose_batch(self._in_order(last))

    def _compose_batch(self, rows: QuerySet[Any]) -> Composed:
        text, parameters = compiled(places_of(self.prunable, rows))
        text = compose(
            "sweep_batch", self.prunable, due=sql.SQL(text), age=sql.Identifier(self._age.column)
        )
        return text, [*parameters, LIMIT]

    def _compose_crowd(self) -> Composed:
        age = RawSQL("%s", [LAST])
        # Two bounds and not an equation, by which the order, and so the index, would be lost.
        rows = self._in_order(age).filter(**{f"{self.prunable.age_column}__lte": age})
        text, parameters = compiled(places_of(self.prunable, rows))
        return compose("sweep_crowd", self.prunable, due=sql.SQL(text)), [*parameters, LIMIT]

    def _compose_range(self, due: Composed) -> Composed:
        text = compose(
            "sweep_range",
            self.prunable,
            due=sql.SQL(due[0]),
            age=sql.Identifier(self._age.column),
            type=sql.SQL(self._age.db_type(self._connection)),
        )
        return text, [*due[1], *due[1], self.cutoff, LIMIT, self.cutoff]

    def _compose_page(self, last: RawSQL | None) -> Composed:
        keys = self._all() if last is None else self._all().filter(pk__gt=last)
        page = keys.annotate(**{KEY: F("pk")}).order_by("pk").values_list(KEY)
        due = places_of(self.prunable, self.rows().filter(IsOnPage(F("pk"))))
        page_text, page_parameters = compiled(page)
        due_text, due_parameters = compiled(due)
        text = compose("sweep_page", self.prunable, page=sql.SQL(page_text), due=sql.SQL(due_text))
        return text, [*page_parameters, LIMIT, *due_parameters]

    def _all(self) -> QuerySet[Any]:
        return self.prunable.model._base_manager.using(self.using)

    def _in_order(self, last: RawSQL | None) -> QuerySet[Any]:
        column = "pk" if self.is_walked_by_key else self.prunable.age_column
        rows = self.rows()
        # The rows of that very age are looked at again: the batch may have ended among them.
        onward = rows if last is None else rows.filter(**{f"{column}__gte": last})
        return onward.order_by(column)

    @property
    def _age(self) -> Any:
        return self.prunable.model._meta.get_field(self.prunable.age_column)

    @property
    def _connection(self) -> BaseDatabaseWrapper:
        connection = connections[self.using]
        connection.ensure_connection()  # its rules decide how values are written
        return connection
