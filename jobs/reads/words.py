"""Times and durations as people read them. Pure functions."""

from __future__ import annotations

import datetime as dt

MINUTE, HOUR, DAY = 60, 3600, 86400


def duration_words(seconds: float) -> str:
    """Return ``0.4 s``, ``42 s``, ``3 min 20 s``, ``2 h 05 min`` or ``3 d 4 h``."""
    if seconds < 9.95:
        return f"{max(seconds, 0):.1f} s" if seconds >= 0.05 or seconds <= 0 else "< 0.1 s"
    whole = round(seconds)
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE:02d} s"
    if whole < DAY:
        return f"{whole // HOUR} h {whole % HOUR // MINUTE:02d} min"
    return f"{whole // DAY} d {whole % DAY // HOUR} h"


def relative_words(at: dt.datetime, *, now: dt.datetime) -> str:
    """Return ``3 min ago``, ``in 20 s`` or ``just now``: one unit, rounded down."""
    seconds = (now - at).total_seconds()
    if abs(seconds) < 1:
        return "just now"
    size = _one_unit(abs(seconds))
    return f"{size} ago" if seconds > 0 else f"in {size}"


def instant_words(at: dt.datetime, *, now: dt.datetime) -> str:
    """Return the time in UTC, with the date where it is not today's."""
    moment = at.astimezone(dt.UTC)
    if moment.date() == now.astimezone(dt.UTC).date():
        return f"{moment:%H:%M:%S} UTC"
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def time_words(at: dt.datetime, *, now: dt.datetime) -> str:
    """Return ``02:00:04 UTC · 3 min ago``."""
    return f"{instant_words(at, now=now)} · {relative_words(at, now=now)}"


def _one_unit(seconds: float) -> str:
    for size, unit in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"
