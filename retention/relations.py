"""Which foreign keys would be in the way of a deleted row."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Model

# The database itself deletes or empties these, from Django 6.1 on.
DONE_BY_THE_DATABASE = tuple(
    getattr(models, name)
    for name in ("DB_CASCADE", "DB_SET_NULL", "DB_SET_DEFAULT")
    if hasattr(models, name)
)


def pointing_at(model: type[Model]) -> list[Any]:
    """Return the foreign keys to a model that the database enforces and does not see to."""
    return [
        relation.field
        for relation in model._meta.get_fields(include_hidden=True)
        if isinstance(relation, models.ManyToOneRel)
        and relation.field.db_constraint  # type: ignore[attr-defined]
        and relation.on_delete not in DONE_BY_THE_DATABASE
        and not relation.related_model._meta.proxy
        and relation.related_model._meta.managed
    ]
