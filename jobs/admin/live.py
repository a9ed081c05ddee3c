"""
Pages that refresh themselves.

``jobs/live.js`` fetches the same address again and replaces what is marked ``data-live``:
every few seconds while the page is visible and somebody is there, else every minute.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from django.http import HttpRequest

from jobs import conf

PARAMETER = "live"
OFF = "off"


@dataclass(frozen=True, kw_only=True)
class Live:
    """How a page refreshes itself."""

    seconds: int
    as_of: str
    is_off: bool  # for this page, by its address
    other_query: str  # turns it off, or on again


def live_of(request: HttpRequest) -> Live | None:
    """Return how a page refreshes itself; None where the setting turns it off."""
    seconds = conf.CONSOLE_LIVE_SECONDS.get()
    if not seconds:
        return None
    query = request.GET.copy()
    is_off = query.pop(PARAMETER, [""])[-1] == OFF
    if not is_off:
        query[PARAMETER] = OFF
    return Live(
        seconds=seconds,
        as_of=f"{dt.datetime.now(dt.UTC):%H:%M:%S} UTC",
        is_off=is_off,
        other_query=f"?{query.urlencode()}",
    )
