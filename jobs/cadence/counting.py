"""
How many slots a span holds, and its last ones, without walking through each.

A minutely job that was down for a year has half a million slots. Away from changes of
the offset the count of a day is known from its fields; only the hours around a change
are walked.
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
import datetime as dt
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jobs.cadence.zones import as_instant, offset_at

if TYPE_CHECKING:
    from jobs.cadence.cron import Cron

_DAY = dt.timedelta(days=1)
_SHORT = dt.timedelta(hours=2)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tally:
    """The number of slots in a span, and the last of them."""

    latest: dt.datetime | None = None
    count: int = 0

    def then(self, later: Tally) -> Tally:
        """Return this tally with that of the following span."""
        return Tally(latest=later.latest or self.latest, count=self.count + later.count)


def tally_slots(cron: Cron, after: dt.datetime, until: dt.datetime) -> Tally:
    """Count the slots after the first UTC instant, up to and with the second."""
    total = Tally()
    for start, end in _spans(cron.tzinfo, after, until):
        if _is_plain(cron.tzinfo, start, end):
            total = total.then(_count_days(cron, start, end))
        else:
            total = total.then(_count_one_by_one(cron, start, end))
    return total


def latest_slots(
    cron: Cron, after: dt.datetime, until: dt.datetime, *, limit: int
) -> tuple[dt.datetime, ...]:
    """Return the last slots of a span, at most limit, looking back in growing windows."""
    if until <= after or limit < 1:
        return ()
    upcoming = cron.next_after(until)
    window = cron.period_after(upcoming) * limit
    while True:
        start = max(after, until - window) if until - after > window else after
        if start == after or tally_slots(cron, start, until).count >= limit:
            return tuple(collections.deque(cron.slots_between(start, until), maxlen=limit))
        window *= 2


def _spans(
    zone: dt.tzinfo, after: dt.datetime, until: dt.datetime
) -> Iterator[tuple[dt.datetime, dt.datetime]]:
    """Cut a span so that every piece is plain or short; neighbouring plain days are one."""
    plain_from = start = after
    while start < until:
        end = min(start + _DAY, until)
        if not _is_plain(zone, start, end):
            if plain_from < start:
                yield plain_from, start
            yield from _halves(zone, start, end)
            plain_from = end
        start = end
    if plain_from < until:
        yield plain_from, until


def _halves(
    zone: dt.tzinfo, start: dt.datetime, end: dt.datetime
) -> Iterator[tuple[dt.datetime, dt.datetime]]:
    if end - start <= _SHORT or _is_plain(zone, start, end):
        yield start, end
        return
    middle = start + (end - start) / 2
    yield from _halves(zone, start, middle)
    yield from _halves(zone, middle, end)


def _is_plain(zone: dt.tzinfo, start: dt.datetime, end: dt.datetime) -> bool:
    # The second pass of an overlap is not plain: fixed schedules have no slots there.
    first = start.astimezone(zone)
    return not first.fold and first.utcoffset() == offset_at(end, zone)


def _count_one_by_one(cron: Cron, start: dt.datetime, end: dt.datetime) -> Tally:
    tally = Tally()
    for slot in cron.slots_between(start, end):
        tally = Tally(latest=slot, count=tally.count + 1)
    return tally


def _count_days(cron: Cron, start: dt.datetime, end: dt.datetime) -> Tally:
    fields, times = cron.fields, cron.fields.minutes_of_day
    first, last = start.astimezone(cron.tzinfo), end.astimezone(cron.tzinfo)
    count, latest = 0, None
    day = fields.next_date(first.date())
    while day <= last.date():
        low = bisect.bisect_right(times, _minute(first)) if day == first.date() else 0
        high = bisect.bisect_right(times, _minute(last)) if day == last.date() else len(times)
        if high > low:
            count += high - low
            latest = dt.datetime.combine(day, dt.time()) + dt.timedelta(minutes=times[high - 1])
        day = fields.next_date(day + _DAY)
    if latest is None:
        return Tally()
    return Tally(latest=as_instant(latest, offset_at(end, cron.tzinfo)), count=count)


def _minute(local: dt.datetime) -> int:
    return local.hour * 60 + local.minute
