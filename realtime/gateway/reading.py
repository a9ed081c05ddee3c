"""
Reading the bus: where a reader is, and what it has missed.

A reader's place is the snapshot of its last look, not a number: numbers are handed out
before the commit. What that snapshot did not show is new, whatever the order of commits.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator, Awaitable, Callable

from realtime.gateway.connection import Connection, rows
from realtime.gateway.seen import Seen

# Rows are removed from the bus at this age, by the database's clock.
KEPT = dt.timedelta(minutes=5)
# A row is as old as its statement's start; it may have committed some seconds later.
MARGIN = dt.timedelta(seconds=30)
PAGE = 200


class Reader:
    """Reads each message once, on whatever connection it is given."""

    def __init__(self, *, on_gap: Callable[[], Awaitable[None]]) -> None:
        self._on_gap = on_gap  # some can no longer be read
        self._seen = Seen()
        self._snapshot: str | None = None
        self._looked_at: dt.datetime | None = None

    def has_seen(self, number: int) -> bool:
        """Say whether a message was handed on."""
        return number in self._seen

    def take(self, number: int) -> bool:
        """Note a message that is about to be handed on; False when it was before."""
        return self._seen.add(number)

    async def begin(self, connection: Connection) -> None:
        """
        Find the place: the one that there is, or now.

        A process that has just begun has missed nothing. A database that has not come to
        the place was set back, and numbers that were seen will be others.
        """
        seen = self._snapshot or "1:1:"
        ((snapshot, now, is_ahead),) = await rows(connection, "bus_look", seen=seen)
        if self._snapshot is None or is_ahead:
            self._snapshot, self._looked_at, self._seen = snapshot, now, Seen()
        if is_ahead:
            await self._on_gap()

    async def missed(self, connection: Connection) -> AsyncIterator[tuple[int, str]]:
        """Yield what this reader has not handed on, number and text, and move the place."""
        found = await rows(connection, "bus_since", seen=self._snapshot)
        snapshot, looked_at, _ = found[0]
        if self._looked_at is not None and looked_at - self._looked_at > KEPT - MARGIN:
            await self._on_gap()
        numbers = [
            number for _, _, number in found if number is not None and number not in self._seen
        ]
        for start in range(0, len(numbers), PAGE):
            page = await rows(connection, "bus_messages", numbers=numbers[start : start + PAGE])
            for number, text in page:
                if self.take(number):
                    yield number, text
        # After the last one: who is interrupted begins at the old place again.
        self._snapshot, self._looked_at = snapshot, looked_at
