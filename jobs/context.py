"""What a running job is given: whether to stop, where to count, what to log."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jobs.declarations import JobDeclaration
from jobs.models.run import Trigger
from jobs.stopping import StopSignal

if TYPE_CHECKING:
    from jobs.capture import Printed

LINES_LIMIT = 1000


@dataclass(frozen=True, kw_only=True)
class LogLine:
    """A line of the activity log that waits to be written with its run's id."""

    source: str
    level: str
    message: str
    context: dict[str, Any]


@dataclass(kw_only=True, eq=False)
class RunContext:
    """One run, from the inside."""

    declaration: JobDeclaration
    trigger: Trigger
    stop: StopSignal = field(default_factory=StopSignal)
    # Set by a wake-up that lands during a pass: one more look at the queue before it ends.
    woken: threading.Event = field(default_factory=threading.Event)
    run_id: int | None = None
    counts: Counter[str] = field(default_factory=Counter)
    progress_done: int | None = None
    progress_total: int | None = None
    began: float = field(default_factory=time.monotonic)
    lines: list[LogLine] = field(default_factory=list)
    dropped_lines: int = 0
    printed: Printed | None = None  # takes what the run prints, where that is kept
    cancelled: threading.Event = field(default_factory=threading.Event)
    # Called at each checkpoint: the loop says that it lives, the ledger row is kept current.
    on_checkpoint: Callable[[], None] = lambda: None
    on_report: Callable[[], None] = lambda: None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def should_stop(self) -> bool:
        """Say whether a shutdown or an operator asks this run to end."""
        return self.stop.is_set() or self.cancelled.is_set()

    def tally(self, **counts: int) -> None:
        """Add to the run's summary. A pass that counts nothing writes no ledger row."""
        with self._lock:
            self.counts.update(counts)

    def progress(self, done: int, total: int | None = None) -> None:
        """Say how far the run is; the console shows it."""
        self.progress_done, self.progress_total = done, total

    def checkpoint(self) -> None:
        """Let others see how the run goes; called now and then by work that lasts."""
        self.on_checkpoint()
        self.on_report()

    def log(self, line: LogLine) -> None:
        """Keep a line until the run's row is written; beyond a bound only count it."""
        with self._lock:
            if len(self.lines) < LINES_LIMIT:
                self.lines.append(line)
            else:
                self.dropped_lines += 1

    def take_lines(self) -> list[LogLine]:
        """Return the lines that wait, which do so no more."""
        with self._lock:
            lines, self.lines = self.lines, []
        return lines

    @property
    def age_seconds(self) -> float:
        return time.monotonic() - self.began


_current: ContextVar[RunContext | None] = ContextVar("engineroom_run", default=None)


def current_run() -> RunContext | None:
    """Return the run on whose behalf this thread works, if any."""
    return _current.get()


@contextlib.contextmanager
def running(context: RunContext) -> Iterator[RunContext]:
    """Make a run the current one of this thread, and of what it hands on."""
    token = _current.set(context)
    try:
        yield context
    finally:
        _current.reset(token)
