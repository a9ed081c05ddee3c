"""Schedulers that capture what they are given and fire it when the test says so."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable

from jobs.cadence import Cron, Every
from jobs.errors import StoppedTaskError


@dataclasses.dataclass(kw_only=True, eq=False)
class FakeTask:
    """A captured function and its cadence."""

    cadence: Cron | Every
    fn: Callable[[], object]
    scheduler: FakeScheduler | FakeIntervalScheduler
    stopped: bool = False
    calls: int = 0

    @property
    def next_fire(self) -> dt.datetime:
        """Return the first slot after the time of the fake scheduler, in UTC."""
        return self.cadence.next_after(self.scheduler.now)

    def fire(self) -> None:
        """Call the function as its timer would; raise StoppedTaskError after stop()."""
        if self.stopped:
            raise StoppedTaskError(self.cadence.explain())
        self.calls += 1
        self.fn()

    def stop(self) -> None:
        """Refuse to fire from now on."""
        self.stopped = True


class _Captured:
    """The tasks of a fake scheduler, and the time that it shows."""

    def __init__(self, *, now: dt.datetime | None = None) -> None:
        """Show this time, which a test may set again; the real time at first by default."""
        self.now = now or dt.datetime.now(dt.UTC)
        self.captured: list[FakeTask] = []

    @property
    def tasks(self) -> list[FakeTask]:
        """Return the tasks that are not stopped, in the order of their scheduling."""
        return [task for task in self.captured if not task.stopped]

    def fire_all(self) -> int:
        """Fire every task once; return how many there were."""
        due = self.tasks
        for task in due:
            if not task.stopped:
                task.fire()
        return len(due)

    def close(self) -> None:
        """Stop all tasks."""
        for task in self.captured:
            task.stop()


class FakeScheduler(_Captured):
    """Stands for the cron scheduler; expressions and zones are checked as in production."""

    def schedule(self, cron_expr: str, fn: Callable[[], object], *, zone: str = "UTC") -> FakeTask:
        """Capture fn; raise CadenceError if the expression cannot be kept."""
        task = FakeTask(cadence=Cron(cron_expr, zone=zone), fn=fn, scheduler=self)
        self.captured.append(task)
        return task


class FakeIntervalScheduler(_Captured):
    """Stands for the interval scheduler."""

    def every(self, interval_ms: int, task: Callable[[], object]) -> FakeTask:
        """Capture the task; raise CadenceError if the interval is none."""
        fake = FakeTask(cadence=Every(ms=interval_ms), fn=task, scheduler=self)
        self.captured.append(fake)
        return fake
