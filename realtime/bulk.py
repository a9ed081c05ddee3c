"""
Many rows of a declared model at once, published as they change.

``QuerySet.update``, ``bulk_create``, ``bulk_update`` and SQL go past ``save()``: these take
their place. Up to 1,000 rows each has its event; more are one ``resync`` of the topic, since
a client reads them faster than it is told of each.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Model, QuerySet

from realtime import declarations
from realtime.capturing import check_database, silence
from realtime.changes import publish_deleted, publish_resync, publish_saved, sight_of
from realtime.outbox import USING

MOST_EVENTS = 1000


@contextlib.contextmanager
def changing(rows: QuerySet[Any] | Model | Iterable[Model]) -> Iterator[None]:
    """
    Publish as updates what the block changes of rows, in whatever way it does so.

    Also for what the read rule looks at and the row does not hold: with ``changing(note)``
    around ``note.readers.remove(user)`` that user is told to let go of the note. The block is
    one transaction. Rows are found and locked before it.
    """
    model, pks = _found(rows)
    if not pks:
        yield
        return
    declaration = declarations.of_rows(model)
    with transaction.atomic(using=USING):
        if len(pks) > MOST_EVENTS:
            yield
            publish_resync(declaration)
            return
        before = sight_of(declaration, pks)
        yield
        publish_saved(declaration, list(before), before=before)


def bulk_update(rows: QuerySet[Any], **values: Any) -> int:
    """Update rows by one statement, as ``QuerySet.update`` does, and publish each of them."""
    check_database(rows.model, rows.db)
    chosen = rows
    publishing: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    with transaction.atomic(using=USING):
        pks = list(rows.order_by("pk").values_list("pk", flat=True)[: MOST_EVENTS + 1])
        if len(pks) > MOST_EVENTS:
            publish_resync(declarations.of_rows(rows.model))
        else:
            chosen = rows.model._base_manager.using(USING).filter(pk__in=pks)
            publishing = changing(chosen)
        with publishing:
            changed: int = chosen.update(**values)
    return changed


def bulk_create(model: type[Model], rows: Iterable[Model], **options: Any) -> Sequence[Model]:
    """Insert rows as ``bulk_create`` does, with its options, and publish each of them."""
    declaration = declarations.of_rows(model)
    with transaction.atomic(using=USING):
        created = model._base_manager.using(USING).bulk_create(rows, **options)
        has_keys = all(row.pk is not None for row in created) and not _may_update(options)
        if has_keys and len(created) <= MOST_EVENTS:
            publish_saved(declaration, [row.pk for row in created], before={})
        elif created:
            publish_resync(declaration)
    return created


def bulk_delete(rows: QuerySet[Any]) -> tuple[int, dict[str, int]]:
    """
    Delete rows as ``QuerySet.delete`` does, cascades included, and publish each of them.

    The sockets of all are captured by one look instead of one for each.
    """
    check_database(rows.model, rows.db)
    declaration = declarations.of_rows(rows.model)
    with transaction.atomic(using=USING):
        pks = list(rows.order_by("pk").values_list("pk", flat=True)[: MOST_EVENTS + 1])
        if len(pks) > MOST_EVENTS:
            publish_resync(declaration)
            doomed, silenced = rows, None
        else:
            publish_deleted(declaration, pks)
            doomed = rows.model._base_manager.using(USING).filter(pk__in=pks)
            silenced = frozenset(pks)
        with silence(declaration.model, silenced):
            deleted: tuple[int, dict[str, int]] = doomed.delete()
    return deleted


def _found(rows: QuerySet[Any] | Model | Iterable[Model]) -> tuple[type[Model], list[Any]]:
    if isinstance(rows, QuerySet):
        check_database(rows.model, rows.db)
        return rows.model, list(rows.values_list("pk", flat=True)[: MOST_EVENTS + 1])
    given = [rows] if isinstance(rows, Model) else list(rows)
    return type(given[0]) if given else Model, [row.pk for row in given]


def _may_update(options: dict[str, Any]) -> bool:
    return bool(options.get("update_conflicts") or options.get("ignore_conflicts"))
