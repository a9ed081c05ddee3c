"""Keeps an outage from filling the log: one line per so many seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

LINE_SECONDS = 30.0


class LineLimit:
    """Says whether a line may be written now. Safe to share between threads."""

    def __init__(
        self, *, seconds: float = LINE_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._next_at: float | None = None

    def allows(self) -> bool:
        """Return True at most once per so many seconds."""
        with self._lock:
            now = self._clock()
            if self._next_at is not None and now < self._next_at:
                return False
            self._next_at = now + self._seconds
            return True
