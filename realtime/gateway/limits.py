"""What one client may take: of time, of memory, of topics."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from realtime.gateway.wire import Wire

MOST_TOPICS = 100
# A subscription is a few hundred bytes; a token is at most 4 KB.
MOST_MESSAGE_BYTES = 65_536
# A page may subscribe to all of its topics at once; then a message every 50 ms.
BURST = 200
PER_SECOND = 20.0
# How long a client may go on sending faster than that.
FLOOD_SECONDS = 10.0
# What waits for a client that does not read; beyond it the client is disconnected.
MOST_WAITING_BYTES = 4_000_000
# What a packet takes beside its text, so that many small ones count too.
PACKET_BYTES = 200
# How long one write to a client may take.
SEND_SECONDS = 20.0


class Pace:
    """Slows down a client that sends too fast; the others are not made to wait."""

    def __init__(
        self,
        *,
        burst: int = BURST,
        per_second: float = PER_SECOND,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._burst = burst
        self._per_second = per_second
        self._clock = clock
        self._tokens = float(burst)
        self._at = clock()

    def take(self) -> float:
        """Count one message; return for how many seconds to read no other."""
        now = self._clock()
        earned = (now - self._at) * self._per_second
        self._tokens, self._at = min(self._tokens + earned, float(self._burst)) - 1.0, now
        return max(0.0, -self._tokens / self._per_second)


class BoundedQueue(asyncio.Queue[Any]):
    """What waits for one client: counts the bytes, and takes nothing more past the bound."""

    def __init__(self, *, most_bytes: int = MOST_WAITING_BYTES, wire: Wire | None = None) -> None:
        super().__init__()
        self._most_bytes = most_bytes
        self._bytes = 0
        self.is_full = False
        self.on_full: Callable[[], object] | None = None
        self.wire = wire  # None while the client polls
        self.made_at = time.monotonic()
        self.pace = Pace()

    def clear(self) -> None:
        """Drop what waits, and take nothing more but the end."""
        self.is_full = True
        self._most_bytes = 0
        while not self.empty():
            self.get_nowait()

    def _put(self, item: Any) -> None:
        self._bytes += _size(item)
        # None is Engine.IO's word for the end.
        if self._bytes <= self._most_bytes or item is None:
            super()._put(item)
            return
        self._bytes -= _size(item)
        if not self.is_full:
            self.is_full = True
            if self.on_full is not None:
                self.on_full()

    def _get(self) -> Any:
        item = super()._get()
        self._bytes -= _size(item)
        return item


def _size(item: Any) -> int:
    data = getattr(item, "data", None)
    return PACKET_BYTES + (len(data) if isinstance(data, str | bytes) else 0)
