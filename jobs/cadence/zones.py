"""
Wall-clock times and instants in a time zone.

PEP 495 gives each wall-clock time two offsets, by its ``fold``. They are equal on
ordinary days; the first is the smaller inside a gap, the greater inside an overlap.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import difflib
import functools
import zoneinfo

from jobs.errors import CadenceError


def load_zone(name: object) -> zoneinfo.ZoneInfo:
    """Return the IANA time zone; raise CadenceError with the nearest name if unknown."""
    if not isinstance(name, str) or name not in _zone_names():
        raise CadenceError("time zone", name, _unknown(name))
    return zoneinfo.ZoneInfo(name)


def require_aware(instant: dt.datetime) -> dt.datetime:
    """Return the instant in UTC; raise CadenceError if it has no time zone."""
    if instant.utcoffset() is None:
        raise CadenceError("instant", instant.isoformat(), "it has no time zone")
    return instant.astimezone(dt.UTC)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Change:
    """One change of a zone's offset from UTC."""

    at: dt.datetime  # the first instant with the new offset
    before: dt.timedelta
    after: dt.timedelta

    @property
    def wall_start(self) -> dt.datetime:
        """Return the first wall-clock time that is missing or comes twice."""
        return as_wall(self.at, min(self.before, self.after))

    @property
    def wall_end(self) -> dt.datetime:
        """Return the first wall-clock time after those that are missing or come twice."""
        return as_wall(self.at, max(self.before, self.after))


def as_wall(instant: dt.datetime, offset: dt.timedelta) -> dt.datetime:
    """Return the wall-clock time, without a zone, of a UTC instant at an offset."""
    return instant.replace(tzinfo=None) + offset


def as_instant(wall: dt.datetime, offset: dt.timedelta) -> dt.datetime:
    """Return the UTC instant of a wall-clock time at an offset."""
    return (wall - offset).replace(tzinfo=dt.UTC)


def offsets(wall: dt.datetime, zone: dt.tzinfo) -> tuple[dt.timedelta, dt.timedelta]:
    """Return the offsets of a wall-clock time at its first and its second occurrence."""
    first = wall.replace(tzinfo=zone, fold=0).utcoffset()
    second = wall.replace(tzinfo=zone, fold=1).utcoffset()
    return first or dt.timedelta(), second or dt.timedelta()


def offset_at(instant: dt.datetime, zone: dt.tzinfo) -> dt.timedelta:
    """Return the offset of the zone at an instant."""
    return instant.astimezone(zone).utcoffset() or dt.timedelta()


def change_around(wall: dt.datetime, zone: dt.tzinfo) -> Change:
    """Return the change that makes this wall-clock time missing or ambiguous."""
    wall = wall.replace(microsecond=0)
    first, second = offsets(wall, zone)
    low, high = sorted((as_instant(wall, first), as_instant(wall, second)))
    return Change(at=_first_with_new_offset(low, high, zone), before=first, after=second)


def _first_with_new_offset(low: dt.datetime, high: dt.datetime, zone: dt.tzinfo) -> dt.datetime:
    # Both are whole seconds, as is every change of an offset in the database of zones.
    old = offset_at(low, zone)
    while high - low > dt.timedelta(seconds=1):
        middle = low + dt.timedelta(seconds=(high - low) // dt.timedelta(seconds=2))
        if offset_at(middle, zone) == old:
            low = middle
        else:
            high = middle
    return high


@functools.cache
def _zone_names() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


def _unknown(name: object) -> str:
    near = difflib.get_close_matches(str(name)[:60], _zone_names(), n=1)
    hint = f"did you mean {near[0]}?" if near else "write it as in Europe/Berlin"
    return f"it is not an IANA time zone; {hint}"
