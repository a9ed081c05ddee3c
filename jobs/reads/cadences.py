"""Cadences as pages and commands show them, and when a job is due next."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from jobs.alerts.facts import JobFacts
from jobs.cadence import Cadence, Cron, Every
from jobs.declarations import JobDeclaration

NEXT_FIRES = 5


@dataclass(frozen=True, kw_only=True)
class CadenceItem:
    """When a job is due, as its page shows it."""

    kind: str  # cron, every, manual, or unreadable
    expression: str | None
    ms: int | None
    timezone: str | None
    source: str  # code, data
    text: str  # in words


@dataclass(frozen=True, kw_only=True)
class Fire:
    """An instant at which a job will be due."""

    at: dt.datetime  # in UTC
    local: str  # wall-clock time in the cadence's own zone, ISO 8601 with its offset
    daylight: str | None  # gap, overlap: a daylight-saving change touches it


def cadence_item(job: JobDeclaration, facts: JobFacts) -> CadenceItem:
    """Return a cadence as pages and commands show it."""
    source = "data" if job.cadence_is_data else "code"
    match facts.cadence:
        case None:
            return _cadence("unreadable", source, f"cannot be read: {facts.trouble}")
        case Cron(expression=expression, zone=zone) as cron:
            return CadenceItem(
                kind="cron",
                expression=expression,
                ms=None,
                timezone=zone,
                source=source,
                text=cron.explain(),
            )
        case Every(ms=ms) as every:
            return CadenceItem(
                kind="every",
                expression=None,
                ms=ms,
                timezone=None,
                source=source,
                text=every.explain(),
            )
        case manual:
            return _cadence("manual", source, manual.explain())


def next_fires(
    cadence: Cadence | None, *, after: dt.datetime, count: int = NEXT_FIRES
) -> tuple[Fire, ...]:
    """Return the next instants of a cadence, with daylight-saving marks. A pure function."""
    found: list[Fire] = []
    instant = after
    while cadence is not None and len(found) < count:
        following = cadence.next_after(instant)
        if following is None:
            break
        instant = following
        zone = cadence.tzinfo if isinstance(cadence, Cron) else dt.UTC
        mark = cadence.daylight_mark(instant) if isinstance(cadence, Cron) else None
        found.append(
            Fire(
                at=instant,
                local=instant.astimezone(zone).isoformat(timespec="seconds"),
                daylight=mark.value if mark else None,
            )
        )
    return tuple(found)


def _cadence(kind: str, source: str, text: str) -> CadenceItem:
    return CadenceItem(kind=kind, expression=None, ms=None, timezone=None, source=source, text=text)
