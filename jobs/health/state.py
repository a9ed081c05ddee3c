"""What this process says of itself: do its loops tick, is it draining, how does it listen."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from jobs.models.worker import ListenState

# A loop may miss two of its ticks, and no loop is silent before a minute has passed.
PERIODS = 3
SHORTEST_SILENCE_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class SilentLoop:
    """A loop that has not ticked for longer than it may."""

    name: str
    seconds: float
    limit_seconds: float

    def __str__(self) -> str:
        return (
            f"{self.name} has not ticked for {self.seconds:.0f} s (at most {self.limit_seconds:g})"
        )


@dataclass(frozen=True, kw_only=True)
class _Loop:
    limit_seconds: float
    ticked_at: float


class ProcessHealth:
    """Safe to use from any thread; never waits for anything but its own lock."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._loops: dict[str, _Loop] = {}
        self._draining = False
        self._listen: ListenState | None = None
        self._describers: dict[str, Callable[[], object]] = {}

    @property
    def draining(self) -> bool:
        """True once this process takes no new work."""
        return self._draining

    @property
    def listen(self) -> ListenState | None:
        """Return how this process hears of work; None when it runs no jobs."""
        return self._listen

    def register(self, name: str, *, period_seconds: float) -> None:
        """Expect a tick of this loop in every period, beginning now."""
        limit = max(PERIODS * period_seconds, SHORTEST_SILENCE_SECONDS)
        with self._lock:
            self._loops[name] = _Loop(limit_seconds=limit, ticked_at=self._clock())

    def unregister(self, name: str) -> None:
        """Expect nothing more of this loop."""
        with self._lock:
            self._loops.pop(name, None)

    def tick(self, name: str) -> None:
        """Note that the loop is alive; a name that is not registered is ignored."""
        with self._lock:
            loop = self._loops.get(name)
            if loop is not None:
                self._loops[name] = _Loop(limit_seconds=loop.limit_seconds, ticked_at=self._clock())

    def set_draining(self) -> None:
        """Take no new work from now on; loops owe no ticks any more."""
        self._draining = True

    def set_listen(self, state: ListenState) -> None:
        """Note how this process hears of new work."""
        self._listen = state

    def describe(self, name: str, describer: Callable[[], object]) -> None:
        """
        Show under this name on ``/readyz`` what the function returns, as JSON can hold it.

        It changes nothing of whether the process is ready. It must be quick and not raise.
        """
        with self._lock:
            self._describers[name] = describer

    def descriptions(self) -> dict[str, object]:
        """Return what parts of this process say of themselves, by their names."""
        with self._lock:
            describers = dict(self._describers)
        return {name: describer() for name, describer in describers.items()}

    def silent_loops(self) -> list[SilentLoop]:
        """Return the loops that are silent for too long; none while draining."""
        if self._draining:
            return []
        with self._lock:
            now = self._clock()
            silences = [
                SilentLoop(
                    name=name, seconds=now - loop.ticked_at, limit_seconds=loop.limit_seconds
                )
                for name, loop in self._loops.items()
            ]
        return [silence for silence in silences if silence.seconds > silence.limit_seconds]


health = ProcessHealth()
