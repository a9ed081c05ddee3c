"""
What refers to a model, and what its deletion does to that: Django's own rules, as values.

Children of one parent come in an order in which those that refer to others come first, so
that a key which restricts is gone before what it holds.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.contenttypes.fields import GenericRelation
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.db.models import ForeignKey, Model, Q, QuerySet, signals

Keys = Sequence[Any]


class Action(enum.Enum):
    """What becomes of the rows that refer."""

    DELETE = "delete"
    CLEAR = "clear"  # the key is set to something else
    BLOCK = "block"  # they hold the parent
    LEAVE = "leave"  # the database decides


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A key of a model that points at the parent."""

    model: type[Model]
    action: Action
    condition: Callable[[Keys], Q]
    field: ForeignKey[Any, Any] | None = None  # None of a generic relation

    def rows(self, keys: Keys) -> QuerySet[Any]:
        """Return the rows that refer to parents with these keys."""
        return self.model._base_manager.filter(self.condition(keys))

    @property
    def cleared(self) -> dict[str, Any]:
        """The column as it is to be written."""
        assert self.field is not None
        return {self.field.name: _replacement(self.field)}


def references(parent: type[Model]) -> tuple[Reference, ...]:
    """Return what refers to a model, in the order in which it is to be dealt with."""
    keys = [
        _reference(relation)
        for relation in parent._meta.get_fields(include_hidden=True)
        if relation.auto_created and not relation.concrete and relation.is_relation
        if relation.one_to_many or relation.one_to_one
    ]
    generic = [
        _generic_reference(field)
        for field in parent._meta.private_fields
        if isinstance(field, GenericRelation)
    ]
    return tuple(_referring_first([*keys, *generic]))


def is_plain(model: type[Model]) -> bool:
    """Say whether rows can go by one DELETE: nobody listens, no parent table, no own rules."""
    listened = signals.pre_delete.has_listeners(model) or signals.post_delete.has_listeners(model)
    return not listened and not model._meta.parents


def _reference(relation: Any) -> Reference:
    field = relation.field
    by_key = field.target_field.primary_key
    lookup = f"{field.name}__in" if by_key else f"{field.name}__pk__in"
    return Reference(
        model=relation.related_model,
        action=_action(field),
        condition=lambda keys: Q(**{lookup: keys}),
        field=field,
    )


def _generic_reference(field: Any) -> Reference:
    content_type = ContentType.objects.get_for_model(
        field.model, for_concrete_model=field.for_concrete_model
    )
    return Reference(
        model=field.remote_field.model,
        action=Action.DELETE,
        condition=lambda keys: Q(
            **{
                f"{field.content_type_field_name}": content_type,
                f"{field.object_id_field_name}__in": [str(key) for key in keys]
                if _is_text(field)
                else list(keys),
            }
        ),
    )


def _is_text(field: Any) -> bool:
    column = field.remote_field.model._meta.get_field(field.object_id_field_name)
    return isinstance(column, (models.CharField, models.TextField))


def _action(field: Any) -> Action:
    handler = field.remote_field.on_delete
    if handler in (models.CASCADE, getattr(models, "DB_CASCADE", models.CASCADE)):
        return Action.DELETE
    if handler in (models.PROTECT, models.RESTRICT):
        return Action.BLOCK
    if handler in (models.SET_NULL, getattr(models, "DB_SET_NULL", models.SET_NULL)):
        return Action.CLEAR
    if handler is models.SET_DEFAULT or _set_value(handler) is not None:
        return Action.CLEAR
    return Action.LEAVE


def _replacement(field: Any) -> Any:
    handler = field.remote_field.on_delete
    value = _set_value(handler)
    if value is not None:
        return value[0]() if callable(value[0]) else value[0]
    return field.get_default() if handler is models.SET_DEFAULT else None


def _set_value(handler: Any) -> tuple[Any] | None:
    """Return what ``SET(…)`` was given."""
    if not hasattr(handler, "deconstruct"):
        return None
    path, arguments, _ = handler.deconstruct()
    return (arguments[0],) if path == "django.db.models.SET" else None


def _referring_first(found: list[Reference]) -> list[Reference]:
    ordered: list[Reference] = []
    visiting: set[type[Model]] = set()

    def visit(reference: Reference) -> None:
        if reference in ordered or reference.model in visiting:
            return
        visiting.add(reference.model)
        for other in found:
            if other.model is not reference.model and _refers(other.model, reference.model):
                visit(other)
        visiting.discard(reference.model)
        if reference not in ordered:
            ordered.append(reference)

    for reference in found:
        visit(reference)
    return ordered


def _refers(model: type[Model], target: type[Model]) -> bool:
    return any(
        isinstance(field, ForeignKey) and field.related_model is target
        for field in model._meta.concrete_fields
    )
