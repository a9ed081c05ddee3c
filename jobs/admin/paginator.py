"""Counting for a paginator that must not count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.utils.functional import cached_property

from jobs.reads.counts import RowCount, count_rows, count_table

if TYPE_CHECKING:
    AnyPaginator = Paginator[Any]
else:
    AnyPaginator = Paginator


class BoundedPaginator(AnyPaginator):
    """
    Counts at most 10,000 rows of a filtered list, and takes the planner's figure for a
    whole table. The pages themselves go by key, not by number.
    """

    @cached_property
    def row_count(self) -> RowCount:
        """The number of rows and how far it can be trusted."""
        rows: Any = self.object_list
        if rows.query.where or rows.query.is_sliced:
            return count_rows(rows)
        return count_table(rows.model, using=rows.db)

    @cached_property
    def count(self) -> int:
        return self.row_count.value
