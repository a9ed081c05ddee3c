"""
One daemon thread that calls many tasks, each when it is due.

The thread starts with the first task and keeps no process alive. Tasks run on it one
after another, so they must be short: a scheduled function only wakes its job.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable

from jobs.errors import SchedulerClosedError

logger = logging.getLogger(__name__)

# A clock that is set, or a machine that slept, is noticed within this time.
LONGEST_SLEEP_SECONDS = 30.0


class TimedTask:
    """A function and the rule of when it is called. Subclasses say when."""

    def __init__(self, fn: Callable[[], object]) -> None:
        self.name = getattr(fn, "__qualname__", None) or repr(fn)
        self._fn = fn
        self._stopped = threading.Event()

    @property
    def stopped(self) -> bool:
        """Return whether the task will not be called any more."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Call the function no more; a call under way goes on to its end."""
        self._stopped.set()

    def tick(self) -> float:
        """Call the function if it is due; return in how many seconds to tick again."""
        raise NotImplementedError

    def call(self) -> None:
        """Call the function; what it raises is logged and stops nothing."""
        if self.stopped:
            return
        try:
            self._fn()
        except (Exception, SystemExit):
            logger.exception("scheduled_task_failed task=%s", self.name)


class TimerThread:
    """Ticks its tasks when they ask for it, on one daemon thread of its own."""

    def __init__(self, *, name: str) -> None:
        self.name = name
        self._wake = threading.Condition()
        self._heap: list[tuple[float, int, TimedTask]] = []
        self._sequence = itertools.count()
        self._thread: threading.Thread | None = None
        self._closed = False

    def add(self, task: TimedTask, *, delay: float) -> None:
        """Tick the task after so many seconds; raise SchedulerClosedError after close()."""
        with self._wake:
            if self._closed:
                raise SchedulerClosedError(self.name)
            self._push(task, delay)
            self._start()
            self._wake.notify()

    def close(self, *, wait_seconds: float = 5.0) -> None:
        """Stop all tasks and end the thread; wait so long for a call under way."""
        with self._wake:
            self._closed = True
            for _, _, task in self._heap:
                task.stop()
            self._heap.clear()
            thread = self._thread
            self._wake.notify()
        if thread is not None and thread is not threading.current_thread():
            thread.join(wait_seconds)

    def _push(self, task: TimedTask, delay: float) -> None:
        heapq.heappush(self._heap, (time.monotonic() + delay, next(self._sequence), task))

    def _start(self) -> None:
        # In a forked child the parent's thread is not alive, so the child starts its own.
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while (task := self._next_task()) is not None:
            delay = self._tick(task)
            with self._wake:
                if not self._closed and not task.stopped:
                    self._push(task, delay)

    def _next_task(self) -> TimedTask | None:
        """Wait for the next task that is due; None once the timer is closed."""
        with self._wake:
            while not self._closed:
                self._drop_stopped()
                if not self._heap:
                    self._wake.wait()
                    continue
                delay = self._heap[0][0] - time.monotonic()
                if delay <= 0:
                    return heapq.heappop(self._heap)[2]
                self._wake.wait(delay)
        return None

    def _drop_stopped(self) -> None:
        while self._heap and self._heap[0][2].stopped:
            heapq.heappop(self._heap)

    @staticmethod
    def _tick(task: TimedTask) -> float:
        try:
            return task.tick()
        except Exception:
            logger.exception("scheduled_task_failed task=%s", task.name)
            return LONGEST_SLEEP_SECONDS
