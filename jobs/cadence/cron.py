"""A schedule written as a cron expression in a time zone."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import itertools
from collections.abc import Iterator
from zoneinfo import ZoneInfo

from jobs.cadence import counting, explaining
from jobs.cadence.fields import CronFields, normalise, parse_fields
from jobs.cadence.zones import (
    as_instant,
    as_wall,
    change_around,
    load_zone,
    offset_at,
    offsets,
    require_aware,
)


class DaylightMark(enum.StrEnum):
    """How a daylight-saving change touches a slot."""

    GAP = "gap"  # a fixed time that does not exist that day, moved to the end of the gap
    OVERLAP = "overlap"  # its wall-clock time comes twice that day


@dataclasses.dataclass(frozen=True)
class Cron:
    """
    Due at the wall-clock times that a cron expression names, in an IANA time zone.

    Five fields (minute, hour, day of month, month, day of week) of numbers or names,
    with ``*``, lists, ranges and steps; ``L`` for the last day of the month; ``fri#2``
    for the second Friday; ``?`` for ``*`` in the two day fields; ``@hourly``,
    ``@daily``, ``@midnight``, ``@weekly``, ``@monthly``, ``@yearly``, ``@annually``.
    A day matches by either day field if neither begins with ``*``, else by both.
    Raise CadenceError, with the reason, for anything else and for dates that never come.
    """

    expression: str
    zone: str = dataclasses.field(default="UTC", kw_only=True)

    def __post_init__(self) -> None:
        """Refuse what cannot be kept, where it is written."""
        object.__setattr__(self, "expression", normalise(self.expression))
        parse_fields(self.expression)
        load_zone(self.zone)

    @property
    def fields(self) -> CronFields:
        """Return the parsed expression."""
        return parse_fields(self.expression)

    @property
    def tzinfo(self) -> ZoneInfo:
        """Return the time zone."""
        return load_zone(self.zone)

    def explain(self) -> str:
        """Return the schedule in words, or the expression where words would not help."""
        return explaining.explain_cron(self)

    def next_after(self, instant: dt.datetime) -> dt.datetime:
        """Return the first slot after an aware instant, in UTC."""
        instant = require_aware(instant)
        if self.fields.fixed:
            return _next_fixed(self.fields, self.tzinfo, instant)
        return _next_wildcard(self.fields, self.tzinfo, instant)

    def slots_between(
        self, after: dt.datetime, until: dt.datetime, *, limit: int | None = None
    ) -> Iterator[dt.datetime]:
        """Yield the slots after the first instant, up to and with the second, at most limit."""
        return itertools.islice(self._slots(after, until), limit)

    def latest_between(
        self, after: dt.datetime, until: dt.datetime
    ) -> tuple[dt.datetime | None, int]:
        """Return the last slot after the first instant and up to the second, and how many."""
        tally = counting.tally_slots(self, require_aware(after), require_aware(until))
        return tally.latest, tally.count

    def latest_slots(
        self, after: dt.datetime, until: dt.datetime, *, limit: int
    ) -> tuple[dt.datetime, ...]:
        """Return the last slots of that span, at most limit, in their order."""
        return counting.latest_slots(self, require_aware(after), require_aware(until), limit=limit)

    def period_after(self, instant: dt.datetime) -> dt.timedelta:
        """Return how long after this instant, usually a slot, the next slot comes."""
        return self.next_after(instant) - instant

    def daylight_mark(self, slot: dt.datetime) -> DaylightMark | None:
        """Return how a daylight-saving change touches this slot, if one does."""
        slot = require_aware(slot)
        wall = as_wall(slot, offset_at(slot, self.tzinfo))
        first, second = offsets(wall, self.tzinfo)
        if first > second:
            return DaylightMark.OVERLAP
        if self.fields.fixed and _ends_a_matching_gap(self.fields, self.tzinfo, slot):
            return DaylightMark.GAP
        return None

    def _slots(self, after: dt.datetime, until: dt.datetime) -> Iterator[dt.datetime]:
        slot = self.next_after(after)
        while slot <= until:
            yield slot
            slot = self.next_after(slot)


def _next_fixed(fields: CronFields, zone: dt.tzinfo, instant: dt.datetime) -> dt.datetime:
    local = instant.astimezone(zone)
    wall = local.replace(tzinfo=None, fold=0)
    # In the second pass of an overlap all its times have had their slot.
    found = (
        fields.next_wall_from(change_around(wall, zone).wall_end)
        if local.fold
        else fields.next_wall(wall)
    )
    while (slot := _first_occurrence(found, zone)) <= instant:
        found = fields.next_wall(found)
    return slot


def _first_occurrence(wall: dt.datetime, zone: dt.tzinfo) -> dt.datetime:
    first, second = offsets(wall, zone)
    if first < second:
        return change_around(wall, zone).at
    return as_instant(wall, first)


def _next_wildcard(fields: CronFields, zone: dt.tzinfo, instant: dt.datetime) -> dt.datetime:
    local = instant.astimezone(zone)
    wall = local.replace(tzinfo=None, fold=0)
    found = fields.next_wall(wall)
    first, second = offsets(wall, zone)
    if first > second:
        overlap = change_around(wall, zone)
        if not local.fold:
            if found < overlap.wall_end:
                return as_instant(found, first)
            found = fields.next_wall_from(overlap.wall_start)
        if found < overlap.wall_end:
            return as_instant(found, second)
    return _first_existing(fields, zone, found)


def _first_existing(fields: CronFields, zone: dt.tzinfo, wall: dt.datetime) -> dt.datetime:
    while True:
        first, second = offsets(wall, zone)
        if first >= second:
            return as_instant(wall, first)
        wall = fields.next_wall_from(change_around(wall, zone).wall_end)


def _ends_a_matching_gap(fields: CronFields, zone: dt.tzinfo, slot: dt.datetime) -> bool:
    before = offset_at(slot - dt.timedelta(seconds=1), zone)
    after = offset_at(slot, zone)
    if before >= after:
        return False
    return fields.next_wall_from(as_wall(slot, before)) < as_wall(slot, after)
