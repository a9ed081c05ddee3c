"""How many rows, without counting millions of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connections
from django.db.models import Model, QuerySet

COUNT_CAP = 10_000


@dataclass(frozen=True, kw_only=True)
class RowCount:
    """A number of rows and how far it can be trusted."""

    value: int
    is_estimate: bool = False  # the planner's figure, as of the last ANALYZE
    is_capped: bool = False  # there are more

    def __str__(self) -> str:
        if self.is_capped:
            return f"{self.value:,}+"
        return f"≈ {self.value:,}" if self.is_estimate else f"{self.value:,}"


def count_rows(rows: QuerySet[Any]) -> RowCount:
    """Count up to 10,000 rows of a filtered list, in the list's own order and by its index."""
    # The order keeps the planner on the index that the list itself reads.
    found = rows.order_by("-pk").values("pk")[: COUNT_CAP + 1].count()
    if found > COUNT_CAP:
        return RowCount(value=COUNT_CAP, is_capped=True)
    return RowCount(value=found)


def count_table(model: type[Model], *, using: str = "default") -> RowCount:
    """Return the planner's figure for a table, or an exact one up to 10,000 rows."""
    with connections[using].cursor() as cursor:
        cursor.execute(
            "SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(%s)",
            [connections[using].ops.quote_name(model._meta.db_table)],
        )
        row = cursor.fetchone()
    estimate = int(row[0]) if row else -1
    if estimate > COUNT_CAP:
        return RowCount(value=_rounded(estimate), is_estimate=True)
    return count_rows(model._default_manager.using(using).all())


def _rounded(estimate: int) -> int:
    # Three digits: more would claim a precision that it has not.
    step = 10 ** max(0, len(str(estimate)) - 3)
    return int(round(estimate / step) * step)
