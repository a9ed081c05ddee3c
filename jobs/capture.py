"""What a run prints, kept apart per run although ``sys.stdout`` is one per process."""

from __future__ import annotations

import io
import sys
import threading
from typing import TextIO

from jobs.context import current_run

LIMIT = 64 * 1024


class Printed:
    """The last 64 KB of what a run printed. Safe to write from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts: list[str] = []
        self._size = 0
        self._dropped = False

    def write(self, text: str) -> None:
        with self._lock:
            self._parts.append(text)
            self._size += len(text)
            if self._size > 2 * LIMIT:
                self._shrink()

    def text(self) -> str:
        """Return the tail, with a line in front where something was cut."""
        with self._lock:
            if self._size > LIMIT:
                self._shrink()
            head = "[… cut …]\n" if self._dropped else ""
            return head + "".join(self._parts)

    def _shrink(self) -> None:
        tail = "".join(self._parts)[-LIMIT:]
        self._parts, self._size, self._dropped = [tail], len(tail), True


class PrintRouter(io.TextIOBase):
    """Stands in for ``sys.stdout``: to the run of the writing thread, else to the real one."""

    def __init__(self, real: TextIO) -> None:
        self._real = real

    def write(self, text: str) -> int:
        run = current_run()
        if run is None or run.printed is None:
            return self._real.write(text)
        run.printed.write(text)
        return len(text)

    def flush(self) -> None:
        self._real.flush()

    def fileno(self) -> int:
        return self._real.fileno()

    def isatty(self) -> bool:
        return self._real.isatty()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._real.encoding


def route_prints() -> None:
    """Put the router in place, once."""
    if not isinstance(sys.stdout, PrintRouter):
        sys.stdout = PrintRouter(sys.stdout)
