"""
When a job is due: by cron in a time zone, at an interval, or only by hand.

Every cadence is a pure value. ``next_after(instant)`` depends on nothing but the
value and the instant, so a restart at any moment neither loses nor repeats a slot.
croniter does the arithmetic of the calendar on wall-clock times; this package parses
the fields as cron does, refuses what cannot be kept, and maps wall-clock times to
instants across daylight-saving changes.

The rules across a change:

fixed      neither minute nor hour begins with ``*``. A time inside the spring gap
           runs once, at the first instant after the gap (several of them: still
           once). A time inside the autumn overlap runs once, at its first occurrence.
wildcard   every other schedule. It runs at every real instant whose wall-clock time
           matches: never in the gap, twice in the overlap.
"""

from __future__ import annotations

from jobs.cadence.cron import Cron, DaylightMark
from jobs.cadence.interval import Every, Manual
from jobs.cadence.periods import Cadence, grace
from jobs.errors import CadenceError

__all__ = [
    "Cadence",
    "CadenceError",
    "Cron",
    "DaylightMark",
    "Every",
    "Manual",
    "grace",
]
