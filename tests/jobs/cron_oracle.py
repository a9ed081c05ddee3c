"""
What cron means, by walking over every real minute: slow, obvious, and without croniter.

It shares no code with ``jobs.cadence``: it has a field reader of its own and knows of
daylight saving only that a wall clock jumps or repeats itself.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from zoneinfo import ZoneInfo

MINUTE = dt.timedelta(minutes=1)
LOOK_BACK = dt.timedelta(hours=26)
TimesOfDay = list[list[tuple[dt.datetime, dt.datetime]]]
RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


class Matcher:
    """Tells whether a wall-clock time matches an expression of five plain fields."""

    def __init__(self, expression: str) -> None:
        fields = expression.split()
        sets = [_read(field, *bounds) for field, bounds in zip(fields, RANGES, strict=True)]
        self.minutes, self.hours, self.days, self.months, weekdays = sets
        self.weekdays = {value % 7 for value in weekdays}
        self.both_days = fields[2].startswith("*") or fields[4].startswith("*")
        self.fixed = not fields[0].startswith("*") and not fields[1].startswith("*")

    def matches(self, wall: dt.datetime) -> bool:
        return (
            wall.minute in self.minutes
            and wall.hour in self.hours
            and wall.month in self.months
            and self._day_matches(wall)
        )

    def _day_matches(self, wall: dt.datetime) -> bool:
        by_day = wall.day in self.days
        by_weekday = wall.isoweekday() % 7 in self.weekdays
        return (by_day and by_weekday) if self.both_days else (by_day or by_weekday)


class Walk:
    """Every real minute of a span with its wall-clock time, sorted by the time of day."""

    def __init__(self, zone: str, after: dt.datetime, until: dt.datetime) -> None:
        self.after = after
        self.real: TimesOfDay = [[] for _ in range(24 * 60)]  # each minute as it happens
        self.first: TimesOfDay = [[] for _ in range(24 * 60)]  # each wall time once
        expected: dt.datetime | None = None
        for real in _minutes(zone, after - LOOK_BACK, until):
            wall, instant = real
            time_of_day = wall.hour * 60 + wall.minute
            self.real[time_of_day].append(real)
            if wall == (expected or wall):
                self.first[time_of_day].append(real)
                expected = wall + MINUTE
            # A wall clock that jumps passes the missing times at once; one that was set
            # back passes nothing until it is ahead of itself again.
            while expected is not None and expected <= wall:
                self.first[expected.hour * 60 + expected.minute].append((expected, instant))
                expected += MINUTE

    def slots(self, expression: str) -> list[dt.datetime]:
        """Return the slots of the span."""
        matcher = Matcher(expression)
        times = self.first if matcher.fixed else self.real
        found = {
            instant
            for hour in matcher.hours
            for minute in matcher.minutes
            for wall, instant in times[hour * 60 + minute]
            if instant > self.after and matcher.matches(wall)
        }
        return sorted(found)


def _minutes(
    zone: str, start: dt.datetime, until: dt.datetime
) -> Iterator[tuple[dt.datetime, dt.datetime]]:
    tzinfo = ZoneInfo(zone)
    instant = start.replace(second=0, microsecond=0)
    while instant <= until:
        yield instant.astimezone(tzinfo).replace(tzinfo=None, fold=0), instant
        instant += MINUTE


def _read(field: str, low: int, high: int) -> set[int]:
    values: set[int] = set()
    for term in field.split(","):
        span, _, step = term.partition("/")
        first, _, last = span.partition("-")
        if first == "*":
            bounds = (low, high if high != 7 else 6)
        else:
            bounds = (int(first), int(last or (high if step else first)))
        values.update(range(bounds[0], bounds[1] + 1, int(step or 1)))
    return values
