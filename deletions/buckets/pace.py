"""How fast a bucket is emptied, and when it will be empty. Pure."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

# A shorter time says nothing of what is to come.
SHORTEST_SECONDS = 0.5


@dataclass(frozen=True, kw_only=True)
class Pace:
    """The mean of one claim; None where nothing can be said yet."""

    objects_per_s: float | None = None
    seconds_left: float | None = None


def pace_of(
    *,
    deleted: int,
    deleted_before: int,
    total: int | None,
    since: dt.datetime | None,
    until: dt.datetime | None,
) -> Pace:
    """
    Return the pace of what was deleted from ``since`` to ``until``, the last progress.

    ``deleted_before`` is how many were deleted at the beginning.
    """
    if since is None or until is None:
        return Pace()
    seconds = (until - since).total_seconds()
    gone = deleted - deleted_before
    if seconds < SHORTEST_SECONDS or gone <= 0:
        return Pace()
    rate = gone / seconds
    left = None if total is None else max(0, total - deleted) / rate
    return Pace(objects_per_s=rate, seconds_left=left)
