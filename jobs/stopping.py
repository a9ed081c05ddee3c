"""The wish to stop, and how long what is in flight may still take."""

from __future__ import annotations

import threading
import time


class StopSignal:
    """Set once, by a signal, an operator or the end of a test."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._deadline = float("inf")

    def set(self, *, grace_ms: int = 0) -> None:
        """Ask for the stop; work in flight may go on for so long."""
        if not self._event.is_set():
            self._deadline = time.monotonic() + grace_ms / 1000
            self._event.set()

    def is_set(self) -> bool:
        return self._event.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        return self._event.wait(seconds)

    @property
    def remaining_seconds(self) -> float:
        """Seconds until work in flight is taken back; infinite while nobody asked to stop."""
        return max(0.0, self._deadline - time.monotonic())

    @property
    def is_over(self) -> bool:
        """True once the grace has ended."""
        return self._event.is_set() and self.remaining_seconds <= 0
