"""What holds for every cadence."""

from __future__ import annotations

import datetime as dt

from jobs.cadence.cron import Cron
from jobs.cadence.interval import Every, Manual

Cadence = Cron | Every | Manual

SHORTEST_GRACE = dt.timedelta(seconds=60)
LONGEST_GRACE = dt.timedelta(minutes=15)


def grace(cadence: Cadence, slot: dt.datetime) -> dt.timedelta:
    """
    Return how late a run of this slot may start without being missed.

    Half the time to the next slot, at least 60 seconds, at most 15 minutes.
    """
    period = cadence.period_after(slot)
    if period is None:
        return LONGEST_GRACE
    return min(max(period / 2, SHORTEST_GRACE), LONGEST_GRACE)
