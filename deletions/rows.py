"""
Deleting a row and all that refers to it, children first, in batches of ids.

Django's own cascade collects all of it in memory and deletes it in one transaction. Here
each batch commits on its own, a batch takes about 0.2 s, and what is held in memory are the
ids of one batch for each level.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, OperationalError, connection
from django.db.models import Model, QuerySet

from deletions.errors import BlockedByKeyError
from deletions.keys import constraint_name
from deletions.relations import Action, Reference, is_plain, references
from jobs.transactions import short_transaction

SMALLEST, FIRST, LARGEST = 50, 500, 1000
TARGET_SECONDS = 0.2
LOCK_MS = 500
# A lock or a statement that took too long: a smaller batch may get through.
TOO_SLOW = ("55P03", "57014")
PATIENCE = 10


@dataclass(kw_only=True)
class Batch:
    """Rows of one model to be deleted, and how far it is with what refers to them."""

    model: type[Model]
    keys: list[Any]
    references: tuple[Reference, ...]
    place: int = 0


@dataclass(kw_only=True)
class Size:
    """How many rows a batch has, by how long the last one took."""

    rows: int = FIRST
    misses: int = field(default=0)

    def took(self, seconds: float) -> None:
        """Aim at the target, by steps of two at most."""
        self.misses = 0
        factor = min(2.0, max(0.5, TARGET_SECONDS / max(seconds, 0.001)))
        self.rows = int(min(LARGEST, max(SMALLEST, self.rows * factor)))

    def missed(self) -> bool:
        """Halve after a batch that did not get through; say whether to try on."""
        self.misses += 1
        self.rows = max(1, self.rows // 2)
        return self.misses <= PATIENCE


class RowEraser:
    """Deletes one row with its children. ``on_rows`` is told of each batch's number of rows."""

    def __init__(
        self, *, on_rows: Callable[[int], None], should_stop: Callable[[], bool] = lambda: False
    ) -> None:
        self._on_rows = on_rows
        self._should_stop = should_stop
        self._size = Size()
        self._known: dict[type[Model], tuple[Reference, ...]] = {}

    def erase(self, model: type[Model], key: Any) -> bool:
        """
        Delete the row last; return False when asked to stop before.

        Raises ``BlockedByKeyError``, which names the key that does not let rows go.
        """
        stack = [self._batch(model, [key])]
        while stack:
            if self._should_stop():
                return False
            below = self._next_below(stack)
            if below is not None:
                stack.append(below)
            elif self._clear_next(stack[-1]) or not self._delete(stack):
                continue
            else:
                stack.pop()
        return True

    def _batch(self, model: type[Model], keys: list[Any]) -> Batch:
        if model not in self._known:
            self._known[model] = references(model)
        return Batch(model=model, keys=keys, references=self._known[model])

    def _next_below(self, stack: list[Batch]) -> Batch | None:
        """Return the next rows that must go before the batch on top."""
        batch = stack[-1]
        while batch.place < len(batch.references):
            reference = batch.references[batch.place]
            if reference.action is Action.CLEAR:
                return None
            if reference.action is Action.DELETE:
                rows = _without(reference.rows(batch.keys), reference.model, stack)
                keys = list(rows.values_list("pk", flat=True)[: self._size.rows])
                if keys:
                    return self._batch(reference.model, keys)
            batch.place += 1
        return None

    def _clear_next(self, batch: Batch) -> bool:
        """Let go of rows that stay; return False when all references were dealt with."""
        if batch.place >= len(batch.references):
            return False
        reference = batch.references[batch.place]
        rows = reference.rows(batch.keys)
        keys = list(rows.values_list("pk", flat=True)[: self._size.rows])
        if not keys:
            batch.place += 1
            return True
        columns = reference.cleared
        if any(getattr(value, "pk", value) in batch.keys for value in columns.values()):
            raise _held_by(reference, batch)  # replaced by the very row that goes
        chosen = reference.model._base_manager.filter(pk__in=keys)
        if self._shortly(lambda: chosen.update(**columns), batch):
            self._on_rows(len(keys))
        return True

    def _delete(self, stack: list[Batch]) -> bool:
        batch = stack[-1]
        for reference in batch.references:
            if reference.action is Action.BLOCK:
                _refuse_blocked(reference, batch, stack)
        rows = batch.model._base_manager.filter(pk__in=batch.keys)
        # By Django's own cascade where somebody listens for single rows.
        act = _raw_delete(rows) if is_plain(batch.model) else rows.delete
        if self._shortly(act, batch):
            self._on_rows(len(batch.keys))
            return True
        if len(stack) > 1:
            stack.pop()  # found again by its parent, in a smaller batch
        return False

    def _shortly(self, act: Callable[[], object], batch: Batch) -> bool:
        """Run one write in its own transaction; return False when a smaller one is worth it."""
        began = time.monotonic()
        try:
            with short_transaction("default"), connection.cursor() as cursor:
                cursor.execute("SELECT set_config('lock_timeout', %s, true)", [str(LOCK_MS)])
                # Django's keys are checked at COMMIT otherwise, where nothing is named.
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                act()
        except IntegrityError as error:
            raise _blocked(error, batch) from error
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", None) in TOO_SLOW and self._size.missed():
                return False
            raise
        self._size.took(time.monotonic() - began)
        return True


def _without(rows: QuerySet[Any], model: type[Model], stack: list[Batch]) -> QuerySet[Any]:
    """Leave out rows that are being deleted already, such as the parent in a circle."""
    for batch in stack:
        if batch.model is model:
            rows = rows.exclude(pk__in=batch.keys)
    return rows


def _raw_delete(rows: QuerySet[Any]) -> Callable[[], object]:
    return lambda: rows._raw_delete("default")  # noqa: SLF001 (no cascade, no rows loaded)


def _refuse_blocked(reference: Reference, batch: Batch, stack: list[Batch]) -> None:
    if not _without(reference.rows(batch.keys), reference.model, stack).exists():
        return
    raise _held_by(reference, batch)


def _held_by(reference: Reference, batch: Batch) -> BlockedByKeyError:
    assert reference.field is not None
    table, column = reference.model._meta.db_table, reference.field.column
    return BlockedByKeyError(
        table=table,
        constraint=constraint_name(table, column) or f"{table}.{column}",
        target=batch.model._meta.db_table,
    )


def _blocked(error: IntegrityError, batch: Batch) -> Exception:
    """Return what PostgreSQL says of a key that Django need not know of."""
    diagnosis = getattr(error.__cause__, "diag", None)
    if diagnosis is None or not diagnosis.constraint_name:
        return error
    return BlockedByKeyError(
        table=diagnosis.table_name or "an unknown table",
        constraint=diagnosis.constraint_name,
        target=batch.model._meta.db_table,
    )
