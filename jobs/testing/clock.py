"""A database clock that stands where the test has set it."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Iterator

from jobs import clock


class DatabaseClock:
    """The stopped clock of a ``with database_clock(…)`` block."""

    def __init__(self, at: dt.datetime) -> None:
        self.set(at)

    def set(self, at: dt.datetime) -> None:
        """Move the clock to an aware instant, forwards or backwards."""
        if at.tzinfo is None:
            raise ValueError(f"{at!r} has no time zone: give an aware instant.")
        self.at = at
        clock.freeze(at)

    def advance(self, **units: float) -> None:
        """Move the clock forwards by the units of a ``timedelta``, such as ``minutes=5``."""
        self.set(self.at + dt.timedelta(**units))


@contextlib.contextmanager
def database_clock(at: dt.datetime) -> Iterator[DatabaseClock]:
    """
    Stop the engine's clock at an aware instant for the length of the block.

    What is due, stale or expired is decided by it. Column defaults, such as a row's
    ``created_at``, still have the real time.
    """
    before = clock.frozen_at()
    try:
        yield DatabaseClock(at)
    finally:
        clock.freeze(before)
