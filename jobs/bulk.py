"""Many rows into a queue at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from django.db import connections, transaction
from django.db.models import AutoField, Field
from django.db.models.fields import NOT_PROVIDED
from psycopg import sql

from jobs import notifier
from jobs.errors import UnlikeRowsError
from jobs.queues import QueueRow

_COPY = sql.SQL("COPY {queue} ({columns}) FROM STDIN")


def enqueue_many(
    model: type[QueueRow], rows: Iterable[Mapping[str, Any]], *, using: str = "default"
) -> int:
    """
    Put rows into a queue by COPY, all of them or none, and wake its workers at commit.

    Each row maps field names to values; all of them have the same names. What is not named
    gets its default. No ``save()`` runs and no signal is sent. Returns how many there were;
    raises ``UnlikeRowsError`` (a ValueError) for a row with other names than the first, and
    what the database raises for a value that it refuses.
    """
    remaining = iter(rows)
    first = next(remaining, None)
    if first is None:
        return 0
    fields = _fields(model, first)
    with transaction.atomic(using=using):
        count = _copy(model, fields, chain([first], remaining), using=using)
        notifier.wake(model._meta.db_table, using=using)
    return count


def _copy(
    model: type[QueueRow],
    fields: Sequence[Field[Any, Any]],
    rows: Iterable[Mapping[str, Any]],
    *,
    using: str,
) -> int:
    connection = connections[using]
    statement = _COPY.format(
        queue=sql.Identifier(model._meta.db_table),
        columns=sql.SQL(", ").join(sql.Identifier(str(field.column)) for field in fields),
    )
    count = 0
    with (
        connection.wrap_database_errors,
        connection.cursor() as cursor,
        cursor.copy(statement) as copy,
    ):
        for values in _values(model, fields, rows, connection):
            copy.write_row(values)
            count += 1
    return count


def _values(
    model: type[QueueRow],
    fields: Sequence[Field[Any, Any]],
    rows: Iterable[Mapping[str, Any]],
    connection: Any,
) -> Iterator[list[Any]]:
    prepare = [(field.attname, field.get_db_prep_save) for field in fields]
    attnames: dict[str, str] = {}
    for place, row in enumerate(rows):
        attnames = attnames or {_attname(model, name): name for name in row}
        if len(row) != len(attnames) or any(name not in row for name in attnames.values()):
            raise UnlikeRowsError(place, row, attnames.values())
        known = {attname: row[name] for attname, name in attnames.items()}
        if len(known) < len(fields):
            known = _defaults(model, fields, known) | known
        yield [save(known[attname], connection) for attname, save in prepare]


def _fields(model: type[QueueRow], named: Iterable[str]) -> list[Field[Any, Any]]:
    """Return the fields to write: those named, and those whose default is Python's."""
    given = {model._meta.get_field(name) for name in named}
    return [
        field
        for field in model._meta.concrete_fields
        if field in given or not (field.db_default is not NOT_PROVIDED or _is_automatic(field))
    ]


def _attname(model: type[QueueRow], name: str) -> str:
    field: Any = model._meta.get_field(name)
    return str(field.attname)


def _is_automatic(field: Field[Any, Any]) -> bool:
    return isinstance(field, AutoField) or (field.null and not field.has_default())


def _defaults(
    model: type[QueueRow], fields: Sequence[Field[Any, Any]], known: Mapping[str, Any]
) -> dict[str, Any]:
    blank = model()
    return {
        field.attname: field.pre_save(blank, add=True)
        for field in fields
        if field.attname not in known
    }
