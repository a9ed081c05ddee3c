"""Pages of a list, newest first, by key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet

Item = TypeVar("Item")
PAGE_LIMIT = 50
LARGEST_LIMIT = 200


@dataclass(frozen=True, kw_only=True)
class Page(Generic[Item]):
    """Some items, newest first, and where the older ones begin."""

    items: tuple[Item, ...]
    next_before_id: int | None  # None: there are no older ones


def read_page(
    rows: QuerySet[Any],
    to_item: Callable[[Any], Item],
    *,
    limit: int = PAGE_LIMIT,
    before_id: int | None = None,
) -> Page[Item]:
    """Return the newest rows below ``before_id``; ``limit`` is cut to 1 to 200."""
    limit = max(1, min(limit, LARGEST_LIMIT))
    found = list(below(rows, before_id)[: limit + 1])
    shown = found[:limit]
    return Page(
        items=tuple(to_item(row) for row in shown),
        next_before_id=key_of(shown[-1]) if len(found) > limit else None,
    )


def below(rows: QuerySet[Any], before_id: int | None) -> QuerySet[Any]:
    """Return the rows older than a key, newest first."""
    ordered = rows.order_by("-pk")
    return ordered if before_id is None else ordered.filter(pk__lt=before_id)


def key_of(row: Model) -> int:
    """Return the key of a row of a table whose key is a number."""
    return int(row.pk)
