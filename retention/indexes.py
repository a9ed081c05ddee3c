"""Which indexes of a model a statement could go by, as the model declares them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Index, Model, Q, UniqueConstraint
from django.db.models.expressions import OrderBy


def has_index_for(model: type[Model], field: Any, *, rows: Q) -> bool:
    """Say whether an index begins with the field and holds all of the rows."""
    if field.primary_key or field.unique or field.db_index:
        return True
    return any(
        name == field.name and is_implied(condition, rows) for name, condition in _leading(model)
    )


def is_looked_up_by_index(model: type[Model], field: Any) -> bool:
    """Say whether an index finds rows by a value of the field, which is never null then."""
    return has_index_for(model, field, rows=Q(**{f"{field.name}__isnull": False}))


def is_implied(condition: Q | None, rows: Q) -> bool:
    """
    Say whether an index with this condition holds all of the rows.

    Only what is literally among the rows' own conditions counts: the planner is not much
    cleverer, and what it cannot prove it cannot use. A pure function.
    """
    if condition is None:
        return True
    known = list(_conjuncts(rows))
    return all(part in known for part in _conjuncts(condition))


def _leading(model: type[Model]) -> Iterator[tuple[str, Q | None]]:
    """Yield the first field of each index, and the condition of its rows."""
    options = model._meta
    for fields in options.unique_together:
        yield fields[0], None
    for item in (*options.indexes, *options.constraints):
        if isinstance(item, (Index, UniqueConstraint)):
            name = _first(item)
            if name:
                yield name, item.condition


def _first(item: Index | UniqueConstraint) -> str:
    if item.fields:
        return item.fields[0].removeprefix("-")
    expression: Any = item.expressions[0] if item.expressions else None
    if isinstance(expression, OrderBy):
        expression = expression.expression
    return str(getattr(expression, "name", ""))


def _conjuncts(condition: Q) -> Iterator[Any]:
    """Yield the parts that must all hold, each as something to be compared."""
    if condition.negated or condition.connector != Q.AND:
        yield condition.identity
        return
    for child in condition.children:
        if isinstance(child, Q):
            yield from _conjuncts(child)
        else:
            yield _plain(child)


def _plain(child: Any) -> Any:
    if not isinstance(child, tuple):
        return child
    name, value = child
    return (name.removesuffix("__exact"), str(value) if isinstance(value, str) else value)
