"""
What calls a function at its time. Two small protocols, so that tests need no time.

``fn()`` takes nothing and only wakes a job: which slots are due is read from the
database, so a call too many or too late does no harm. Nothing here starts a thread
before the first task is scheduled.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from typing import Protocol

from jobs.cadence import Cron, Every
from jobs.timers import LONGEST_SLEEP_SECONDS, TimedTask, TimerThread

Clock = Callable[[], dt.datetime]


class ScheduledTask(Protocol):
    """A function on a schedule."""

    def stop(self) -> None:
        """Call the function no more. Stopping twice is allowed."""


class CronTask(ScheduledTask, Protocol):
    """A function on a cron schedule."""

    @property
    def next_fire(self) -> dt.datetime:
        """Return the next instant at which the function is called, in UTC."""


class Scheduler(Protocol):
    """Calls functions at the times of cron expressions."""

    def schedule(self, cron_expr: str, fn: Callable[[], object], *, zone: str = "UTC") -> CronTask:
        """Call fn at every slot; raise CadenceError if the expression cannot be kept."""


class IntervalScheduler(Protocol):
    """Calls functions at intervals."""

    def every(self, interval_ms: int, task: Callable[[], object]) -> ScheduledTask:
        """Call the task each interval, first after one; raise CadenceError if it is none."""


class CronScheduler:
    """Cron schedules on one daemon thread, by the wall clock."""

    def __init__(self, *, timer: TimerThread | None = None, clock: Clock | None = None) -> None:
        """Use a timer shared with another scheduler, or one of its own."""
        self._timer = timer or TimerThread(name="engineroom-cron")
        self._clock = clock or _utc_now

    def schedule(
        self, cron_expr: str, fn: Callable[[], object], *, zone: str = "UTC"
    ) -> TimedCronTask:
        """Call fn at every slot; raise CadenceError if the expression cannot be kept."""
        task = TimedCronTask(Cron(cron_expr, zone=zone), fn, clock=self._clock)
        self._timer.add(task, delay=task.delay())
        return task

    def close(self) -> None:
        """Stop all tasks of the timer and end its thread."""
        self._timer.close()


class ThreadIntervalScheduler:
    """Intervals on one daemon thread, by the monotonic clock."""

    def __init__(self, *, timer: TimerThread | None = None) -> None:
        """Use a timer shared with another scheduler, or one of its own."""
        self._timer = timer or TimerThread(name="engineroom-intervals")

    def every(self, interval_ms: int, task: Callable[[], object]) -> TimedIntervalTask:
        """Call the task each interval, first after one; raise CadenceError if it is none."""
        timed = TimedIntervalTask(Every(ms=interval_ms), task)
        self._timer.add(timed, delay=timed.delay())
        return timed

    def close(self) -> None:
        """Stop all tasks of the timer and end its thread."""
        self._timer.close()


class TimedCronTask(TimedTask):
    """A function called once whenever the wall clock has reached its next slot."""

    def __init__(self, cron: Cron, fn: Callable[[], object], *, clock: Clock) -> None:
        super().__init__(fn)
        self._cron = cron
        self._clock = clock
        self._seen_at = clock()
        self._next_fire = cron.next_after(self._seen_at)

    @property
    def next_fire(self) -> dt.datetime:
        """Return the next instant at which the function is called, in UTC."""
        return self._next_fire

    def tick(self) -> float:
        """Call the function if its slot has come; slots slept through make one call."""
        now = self._clock()
        if now >= self._next_fire:
            self._next_fire = self._cron.next_after(now)
            self.call()
        elif now < self._seen_at:
            # The clock was set back: the slot that was next may be far ahead now.
            self._next_fire = self._cron.next_after(now)
        self._seen_at = now
        return self.delay()

    def delay(self) -> float:
        """Return the seconds to the next look at the clock."""
        until = (self._next_fire - self._clock()).total_seconds()
        return min(max(until, 0.0), LONGEST_SLEEP_SECONDS)


class TimedIntervalTask(TimedTask):
    """A function called at a fixed rate; after a pause once, not once per interval missed."""

    def __init__(
        self,
        every: Every,
        fn: Callable[[], object],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(fn)
        self._seconds = every.ms / 1000
        self._monotonic = monotonic
        self._due = monotonic() + self._seconds

    def tick(self) -> float:
        """Call the function if it is due."""
        if self._monotonic() >= self._due:
            self.call()
            self._due = self._following(self._monotonic())
        return self.delay()

    def delay(self) -> float:
        """Return the seconds until the function is due."""
        return max(self._due - self._monotonic(), 0.0)

    def _following(self, now: float) -> float:
        missed = max(0.0, (now - self._due) // self._seconds)
        return self._due + (missed + 1) * self._seconds


def _utc_now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
