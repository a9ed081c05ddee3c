"""The wish to stop, and how long what is in flight may still take."""

from __future__ import annotations

import threading
import time


class StopSignal:
    """Set once, by a signal, an operator or the end of a test."""

    def __init__(self) -> None:
        # Re-entrant: a signal handler sets it, maybe within this thread's own wait, where an
        # Event would wait for itself. A wait that misses the notice in that moment lasts its
        # time, so the main thread waits for short times only.
        self._changed = threading.Condition(threading.RLock())
        self._is_set = False
        self._deadline = float("inf")

    def set(self, *, grace_ms: int = 0) -> None:
        """Ask for the stop; work in flight may go on for so long."""
        with self._changed:
            if not self._is_set:
                self._deadline = time.monotonic() + grace_ms / 1000
                self._is_set = True
                self._changed.notify_all()

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, seconds: float | None = None) -> bool:
        with self._changed:
            return self._changed.wait_for(self.is_set, seconds)

    @property
    def remaining_seconds(self) -> float:
        """Seconds until work in flight is taken back; infinite while nobody asked to stop."""
        return max(0.0, self._deadline - time.monotonic())

    @property
    def is_over(self) -> bool:
        """True once the grace has ended."""
        return self._is_set and self.remaining_seconds <= 0
