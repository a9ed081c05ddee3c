"""
Declared models publish by themselves: at each save, and before each delete.

Django sends its signals of a save outside of the transaction that writes the row, when the
caller has opened none: a crash between the two would lose the event. So the save itself is
wrapped. A delete sends its signal within the transaction that deletes, cascades included.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Collection, Iterator, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from django.apps import apps
from django.db import router, transaction
from django.db.models import Model
from django.db.models.signals import pre_delete

from realtime import declarations
from realtime.changes import publish_deleted, publish_saved, sight_of
from realtime.errors import OtherDatabaseError
from realtime.outbox import USING

# Rows whose deletes were published by who deletes many at once: keys by model, None for all.
_Silence = Mapping[type[Model], Collection[Any] | None]
_silenced: ContextVar[_Silence] = ContextVar("silenced", default=MappingProxyType({}))


def attach(model: type[Model]) -> None:
    """Publish what is saved and deleted of a model, its proxies and what inherits from it."""
    if not hasattr(vars(model).get("save_base"), "__wrapped__"):
        _wrap_save(model)
    for candidate in apps.get_models():
        if candidate._meta.concrete_model is model:  # and of an heir, its parent's row is deleted
            pre_delete.connect(_publish_delete, sender=candidate, dispatch_uid=f"{__name__}.delete")


@contextlib.contextmanager
def silence(model: type[Model], pks: Collection[Any] | None) -> Iterator[None]:
    """Publish no deletes of these rows inside, or of all with None: they have been."""
    token = _silenced.set({**_silenced.get(), model: pks})
    try:
        yield
    finally:
        _silenced.reset(token)


def check_database(model: type[Model], using: str) -> None:
    """Raise OtherDatabaseError unless the change can be one transaction with the outbox."""
    if using != USING:
        raise OtherDatabaseError(model._meta.label, using, USING)


def _wrap_save(model: type[Model]) -> None:
    save_base = model.save_base

    @functools.wraps(save_base)
    def save_and_publish(row: Any, *args: Any, **options: Any) -> None:
        declaration = declarations.of_model(type(row))
        if declaration is None:
            save_base(row, *args, **options)
            return
        using = options.get("using") or router.db_for_write(type(row), instance=row)
        check_database(type(row), using)
        with transaction.atomic(using=using):
            before = sight_of(declaration, [row.pk]) if row.pk is not None else {}
            save_base(row, *args, **options)
            publish_saved(declaration, [row.pk], before=before)

    model.save_base = save_and_publish  # type: ignore[method-assign,assignment]


def _publish_delete(sender: type[Model], instance: Model, using: str, **_signal: Any) -> None:
    declaration = declarations.of_model(sender)
    if declaration is None or _is_silenced(declaration.model, instance.pk):
        return
    check_database(sender, using)
    publish_deleted(declaration, [instance.pk])


def _is_silenced(model: type[Model], pk: Any) -> bool:
    pks = _silenced.get().get(model, ())
    return pks is None or pk in pks
