"""What a sweep would delete, counted and not touched."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from django.core.exceptions import EmptyResultSet

from jobs.failure import headline
from jobs.reads.bounded import bounded
from jobs.reads.counts import RowCount
from jobs.reads.links import admin_url
from jobs.schedule import database_now
from retention.models import TargetConfig
from retention.statements import DueRows
from retention.sweep import Ageing

# Beyond it the exact number helps nobody, and counting takes long.
COUNT_CAP = 100_000
COUNT_LIMIT_MS = 2000


@dataclass(frozen=True, kw_only=True)
class PreviewItem:
    """How many rows of a target are due."""

    id: str  # the target's name
    label: str
    cutoff: dt.datetime | None  # rows strictly older go; None with an error
    due: int | None  # up to the cap; None with an error
    is_capped: bool
    error: str
    read_at: dt.datetime
    admin_url: str

    @property
    def words(self) -> str:
        """The count as it is shown."""
        return "" if self.due is None else str(RowCount(value=self.due, is_capped=self.is_capped))


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What would go, target by target, as of now."""

    items: tuple[PreviewItem, ...]
    next_before_id: None = None  # there is only one page

    @property
    def has_error(self) -> bool:
        """Whether a target could not be counted."""
        return any(item.error for item in self.items)


def preview(ageing: Iterable[Ageing]) -> Preview:
    """Count what is due of each; deletes nothing. An error is its target's own."""
    now = database_now()
    return Preview(items=tuple(_count(item, now) for item in ageing))


def _count(item: Ageing, now: dt.datetime) -> PreviewItem:
    cutoff = due = None
    error = ""
    try:
        rows = item.due(now)
        cutoff = rows.cutoff
        due = _count_due(rows)
    except Exception as caught:  # noqa: BLE001 (the other targets are counted all the same)
        error = headline(caught)
    return PreviewItem(
        id=item.prunable.name,
        label=item.prunable.label,
        cutoff=cutoff,
        due=None if due is None else min(due, COUNT_CAP),
        is_capped=due is not None and due > COUNT_CAP,
        error=error,
        read_at=now,
        admin_url=admin_url(TargetConfig, item.prunable.name),
    )


def _count_due(rows: DueRows) -> int:
    try:
        with bounded(using=rows.using, milliseconds=COUNT_LIMIT_MS):
            return rows.rows().order_by().values("pk")[: COUNT_CAP + 1].count()
    except EmptyResultSet:
        return 0
