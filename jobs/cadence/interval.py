"""A cadence at an interval, and the cadence of jobs that only an operator starts."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
from collections.abc import Iterator

from jobs.cadence.zones import require_aware
from jobs.errors import CadenceError

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_LONGEST_MS = 366 * 24 * 60 * 60 * 1000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Every:
    """
    Due at every multiple of an interval since 1970, so all replicas agree on the slots.

    Give ``ms`` or ``seconds``, from one millisecond to 366 days in whole milliseconds.
    """

    ms: int = 0
    seconds: dataclasses.InitVar[float | None] = None

    def __post_init__(self, seconds: float | None) -> None:
        """Turn seconds into milliseconds and refuse what is no interval."""
        if seconds is not None:
            object.__setattr__(self, "ms", _milliseconds(seconds, given=self.ms))
        if type(self.ms) is not int or not 1 <= self.ms <= _LONGEST_MS:
            raise CadenceError(
                "interval in ms", self.ms, f"write a whole number from 1 to {_LONGEST_MS}"
            )

    @property
    def interval(self) -> dt.timedelta:
        """Return the interval."""
        return dt.timedelta(milliseconds=self.ms)

    def explain(self) -> str:
        """Return the cadence in words."""
        for unit, size in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000)):
            if self.ms % size == 0:
                return _every(self.ms // size, unit)
        if self.ms % 1000 == 0:
            return _every(self.ms // 1000, "second")
        return f"every {self.ms} ms"

    def next_after(self, instant: dt.datetime) -> dt.datetime:
        """Return the first slot after an aware instant, in UTC."""
        return self._slot(self._index(instant) + 1)

    def slots_between(
        self, after: dt.datetime, until: dt.datetime, *, limit: int | None = None
    ) -> Iterator[dt.datetime]:
        """Yield the slots after the first instant, up to and with the second, at most limit."""
        indexes = range(self._index(after) + 1, self._index(until) + 1)
        return (self._slot(index) for index in itertools.islice(indexes, limit))

    def latest_between(
        self, after: dt.datetime, until: dt.datetime
    ) -> tuple[dt.datetime | None, int]:
        """Return the last slot after the first instant and up to the second, and how many."""
        last = self._index(until)
        count = max(0, last - self._index(after))
        return (self._slot(last) if count else None), count

    def latest_slots(
        self, after: dt.datetime, until: dt.datetime, *, limit: int
    ) -> tuple[dt.datetime, ...]:
        """Return the last slots of that span, at most limit, in their order."""
        last = self._index(until)
        first = max(self._index(after), last - max(0, limit)) + 1
        return tuple(self._slot(index) for index in range(first, last + 1))

    def period_after(self, instant: dt.datetime) -> dt.timedelta:
        """Return how long after this instant, usually a slot, the next slot comes."""
        return self.next_after(instant) - instant

    def _index(self, instant: dt.datetime) -> int:
        return (require_aware(instant) - _EPOCH) // self.interval

    def _slot(self, index: int) -> dt.datetime:
        return _EPOCH + index * self.interval


@dataclasses.dataclass(frozen=True)
class Manual:
    """Never due by itself: an operator starts the job."""

    def explain(self) -> str:
        """Return the cadence in words."""
        return "only by hand"

    def next_after(self, instant: dt.datetime) -> None:
        """Return None: there is no next slot."""

    def slots_between(
        self,
        after: dt.datetime,
        until: dt.datetime,
        *,
        limit: int | None = None,
    ) -> Iterator[dt.datetime]:
        """Yield nothing."""
        return iter(())

    def latest_between(
        self,
        after: dt.datetime,
        until: dt.datetime,
    ) -> tuple[None, int]:
        """Return that there is no slot."""
        return None, 0

    def latest_slots(
        self,
        after: dt.datetime,
        until: dt.datetime,
        *,
        limit: int,
    ) -> tuple[dt.datetime, ...]:
        """Return no slots."""
        return ()

    def period_after(self, instant: dt.datetime) -> None:
        """Return None: there is no next slot."""


def _milliseconds(seconds: float, *, given: int) -> int:
    if given:
        raise CadenceError("interval", f"ms={given}, seconds={seconds}", "give only one of them")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise CadenceError("interval in seconds", seconds, "it is not a number")
    milliseconds = seconds * 1000
    # An infinite or undefined number fails here too: it equals no whole number.
    if not -_LONGEST_MS <= milliseconds <= _LONGEST_MS or milliseconds != round(milliseconds):
        raise CadenceError("interval in seconds", seconds, "write at most three decimals")
    return round(milliseconds)


def _every(count: int, unit: str) -> str:
    return f"every {unit}" if count == 1 else f"every {count} {unit}s"
