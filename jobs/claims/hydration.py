"""
Rows of the database made into models, a batch at a time.

Most of what a claim costs its process, so all that can be is done once for the batch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import JSONField, Model
from django.db.models.base import ModelState
from django.db.models.signals import post_init, pre_init

from jobs.queues import QueueRow
from jobs.statements import Rows

# What of a column the server returns, as it stands in the rows' attributes.
Convert = Callable[[Iterable[Any]], list[Any]]
_parse = json.JSONDecoder().raw_decode


@dataclass(frozen=True, kw_only=True)
class Hydration:
    """How the columns that a statement returns become a row."""

    model: type[QueueRow]
    using: str
    attnames: tuple[str, ...]
    converters: Mapping[int, Convert]  # by the column's place

    def rows(self, found: Rows, *, known: Mapping[str, Any]) -> list[QueueRow]:
        """
        Return a model for each row of columns; what follows them is left.

        ``known`` are the attributes that all of them have, which were not returned. What is
        neither known nor returned is deferred. A model without an ``__init__``, a ``from_db``
        or listeners of its own is filled directly: ``from_db`` takes six times as long, a
        fifth of all that a claim costs.
        """
        attributes = [self._attributes(row, known) for row in found]
        for place, convert in self.converters.items():
            name = self.attnames[place]
            values = convert(row[place] for row in found)
            for each, value in zip(attributes, values, strict=True):
                each[name] = value
        make = self._filled if self._is_plain() else self._built
        return [make(each) for each in attributes]

    def _attributes(self, row: Sequence[Any], known: Mapping[str, Any]) -> dict[str, Any]:
        attributes = dict(known)
        attributes.update(zip(self.attnames, row, strict=False))
        return attributes

    def _is_plain(self) -> bool:
        model = self.model
        return (
            model.__init__ is Model.__init__
            and model.from_db.__func__ is Model.from_db.__func__  # type: ignore[attr-defined]
            and not pre_init.has_listeners(model)
            and not post_init.has_listeners(model)
        )

    def _filled(self, attributes: dict[str, Any]) -> QueueRow:
        row = self.model.__new__(self.model)
        attributes["_state"] = state = ModelState()
        state.db, state.adding = self.using, False
        row.__dict__ = attributes
        return row

    def _built(self, attributes: Mapping[str, Any]) -> QueueRow:
        fields = self.model._meta.concrete_fields
        names = [field.attname for field in fields if field.attname in attributes]
        return self.model.from_db(self.using, names, [attributes[name] for name in names])


def converter_of(field: Any, column: Any, connection: BaseDatabaseWrapper) -> Convert | None:
    """Return how a field's values are made of what the server returns; None: they are that."""
    if _is_plain_json(field):
        return _parsed
    functions = [*connection.ops.get_db_converters(column), *column.get_db_converters(connection)]
    return partial(_converted, functions, column, connection.alias) if functions else None


def _is_plain_json(field: Any) -> bool:
    is_plain = getattr(type(field), "from_db_value", None) is JSONField.from_db_value
    return is_plain and field.decoder is None


def _parsed(values: Iterable[str | None]) -> list[Any]:
    # Without the look for blanks around it, which PostgreSQL does not write: a third of the time.
    return [None if value is None else _parse(value)[0] for value in values]


def _converted(
    functions: Sequence[Callable[..., Any]], column: Any, using: str, values: Iterable[Any]
) -> list[Any]:
    connection = connections[using]
    found = list(values)
    for convert in functions:
        found = [convert(value, column, connection) for value in found]
    return found
