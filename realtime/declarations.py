"""
Which models publish their changes: topic, who may read a row, which fields go out.

An app declares them in its module ``realtime``, which is read at the start.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, cast

from django.core.exceptions import FieldDoesNotExist
from django.db.models import Model

from realtime.errors import DeclarationError, NotDeclaredError
from realtime.topics import is_topic


class Sight(enum.Enum):
    """Who may read the rows of a model, where it does not depend on the row."""

    EVERYONE = "everyone"  # whoever may subscribe to the topic; this declares it proven
    NOBODY = "nobody"  # changes are kept in the outbox and sent to no client


EVERYONE = Sight.EVERYONE
NOBODY = Sight.NOBODY

# Given a row as the database has it, returns those who may read it: users, or their keys.
Readers = Callable[[Any], Iterable[Any]]


@dataclass(frozen=True, kw_only=True)
class ModelDeclaration:
    """One model whose changes are published."""

    model: type[Model]
    topic: str
    fields: tuple[str, ...]  # besides "id", which always goes out
    readers: Readers | Sight

    def key(self, pk: Any) -> str:
        """Return the ordering key of a row."""
        return f"{self.model._meta.db_table}:{pk}"

    def payload(self, row: Model) -> dict[str, Any]:
        """Return what goes out of a row as the database has it."""
        values = {name: _value(row, name) for name in self.fields}
        return {"id": row.pk, **values}


_by_model: dict[type[Model], ModelDeclaration] = {}
_by_topic: dict[str, ModelDeclaration] = {}


def declare_model(
    model: type[Model],
    *,
    topic: str,
    fields: Iterable[str],
    readers: Readers | Sight,
) -> ModelDeclaration:
    """
    Let saves, updates and deletes of a model through the ORM publish by themselves.

    ``readers`` is a function that returns who may read a given row (users, a queryset of
    users, or keys), or ``realtime.EVERYONE`` or ``realtime.NOBODY``. ``fields`` are the names
    of columns that go out besides the id. Raises DeclarationError.
    """
    declaration = ModelDeclaration(model=model, topic=topic, fields=tuple(fields), readers=readers)
    _check(declaration)
    _by_model[model] = declaration
    _by_topic[topic] = declaration
    from realtime import capturing  # which needs the declaration

    capturing.attach(model)
    return declaration


def of_model(model: type[Model]) -> ModelDeclaration | None:
    """Return the declaration of a model, of the one it is a proxy of, or of a parent."""
    for candidate in model.__mro__:
        declaration = _by_model.get(candidate)
        if declaration is not None:
            return declaration
    return None


def of_rows(model: type[Model]) -> ModelDeclaration:
    """Return the declaration of a model. Raises NotDeclaredError."""
    declaration = of_model(model)
    if declaration is None:
        raise NotDeclaredError(model._meta.label)
    return declaration


def of_topic(topic: str) -> ModelDeclaration | None:
    """Return the declaration whose changes go to a topic; None for a topic without a model."""
    return _by_topic.get(topic)


def _check(declaration: ModelDeclaration) -> None:
    meta = declaration.model._meta
    topic, readers = declaration.topic, cast("Any", declaration.readers)
    if meta.abstract or meta.proxy:
        raise DeclarationError(meta.label, "it has no table of its own")
    if not is_topic(topic):
        raise DeclarationError(meta.label, f"topic={topic!r} is not printable text of 1 to 200")
    if declaration.model in _by_model:
        raise DeclarationError(meta.label, "it is declared already")
    for other in _by_model:
        if issubclass(declaration.model, other) or issubclass(other, declaration.model):
            problem = f"{other._meta.label} is declared, whose rows are its rows too"
            raise DeclarationError(meta.label, problem)
    if topic in _by_topic:
        label = _by_topic[topic].model._meta.label
        raise DeclarationError(meta.label, f"topic={topic!r} belongs to {label} already")
    if not isinstance(readers, Sight) and not callable(readers):
        problem = f"readers={readers!r} is not a function, EVERYONE or NOBODY"
        raise DeclarationError(meta.label, problem)
    for name in declaration.fields:
        _check_field(declaration, name)


def _check_field(declaration: ModelDeclaration, name: str) -> None:
    label = declaration.model._meta.label
    if name == "id" and declaration.model._meta.pk.name != "id":
        raise DeclarationError(label, "'id' is the primary key in every payload")
    try:
        field = declaration.model._meta.get_field(name)
    except FieldDoesNotExist:
        raise DeclarationError(label, f"fields={name!r} is not one of its fields") from None
    if not getattr(field, "concrete", False) or field.many_to_many:
        raise DeclarationError(label, f"fields={name!r} is no column of its table")


def _value(row: Model, name: str) -> Any:
    field: Any = row._meta.get_field(name)
    value = field.value_from_object(row)
    # A file or an image is its name.
    return str(value) if hasattr(value, "storage") else value
