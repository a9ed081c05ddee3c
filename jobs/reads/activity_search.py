"""Searching the log stream within a time window, and following it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from django.db.models import QuerySet

from jobs.models import ActivityLog
from jobs.models.activity import LogLevel, LogSource
from jobs.reads.activity import ActivityItem, activity_item, activity_rows
from jobs.reads.paging import PAGE_LIMIT, Page, read_page

FOLLOWED = 500  # lines of one look
# A line gets its id before it is committed: one with a lower id may turn up later.
OVERLAP = dt.timedelta(seconds=30)


@dataclass(frozen=True, kw_only=True)
class ActivityQuery:
    """Which lines; each field that is given narrows them, by equality."""

    source: str = ""
    level: str = ""
    job_id: str = ""
    run_id: int | None = None

    def rows(self) -> QuerySet[ActivityLog]:
        """Return the lines with the database's time."""
        wanted: dict[str, object] = {
            "source": LogSource(self.source) if self.source else None,
            "level": LogLevel(self.level) if self.level else None,
            "job_id": self.job_id or None,
            "run_id": self.run_id,
        }
        given = {name: value for name, value in wanted.items() if value is not None}
        return activity_rows().filter(**given)


def search_activity(
    query: ActivityQuery,
    *,
    since: dt.datetime,
    until: dt.datetime | None = None,
    text: str = "",
    limit: int = PAGE_LIMIT,
    before_id: int | None = None,
) -> Page[ActivityItem]:
    """
    Return the lines of a time window, newest first.

    ``text`` is contained in the message, in whatever case: no index helps with that, so it
    is looked for within the window only.
    """
    rows = query.rows().filter(at__gte=since)
    if until is not None:
        rows = rows.filter(at__lt=until)
    if text:
        rows = rows.filter(message__icontains=text)
    return read_page(rows, activity_item, limit=limit, before_id=before_id)


@dataclass(kw_only=True)
class ActivityFollower:
    """Returns the lines that are new since the last look, oldest first."""

    query: ActivityQuery
    _floor: int = 0  # every line up to here was seen, or is older than all that was asked for
    _seen: dict[int, dt.datetime] = field(default_factory=dict)

    def begin(self, items: tuple[ActivityItem, ...]) -> None:
        """Take what was shown already, newest first; only later lines are new."""
        self._floor = items[-1].id - 1 if items else self._newest()
        self._seen = {item.id: item.at for item in items}

    def look(self) -> tuple[ActivityItem, ...]:
        """Return at most 500 lines that were not returned before."""
        rows = self.query.rows().filter(pk__gt=self._floor).exclude(pk__in=list(self._seen))
        found = tuple(activity_item(row) for row in rows.order_by("pk")[:FOLLOWED])
        self._seen.update({item.id: item.at for item in found})
        if found:
            self._raise_floor(found[-1].read_at - OVERLAP)
        return found

    def _raise_floor(self, before: dt.datetime) -> None:
        settled = [line_id for line_id, at in self._seen.items() if at < before]
        self._floor = max([self._floor, *settled])
        self._seen = {key: at for key, at in self._seen.items() if key > self._floor}

    def _newest(self) -> int:
        return ActivityLog.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
