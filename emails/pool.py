"""A few kept connections to one server, shared by the threads of a worker."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from emails.errors import PoolClosed
from emails.smtp import Connection

MOST_MESSAGES = 100  # on one connection; servers count them, too
MOST_IDLE_SECONDS = 60.0
UNCHECKED_IDLE_SECONDS = 5.0  # after a longer rest the server is asked whether it is still there


class Pool:
    """At most `size` connections, each used by one thread at a time."""

    def __init__(
        self,
        open_connection: Callable[[], Connection],
        *,
        size: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make a pool; `open_connection` returns an open connection or raises ChannelDown."""
        self._open = open_connection
        self._clock = clock
        self._free = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._idle: list[tuple[Connection, float]] = []  # with the time of its return
        self._busy: set[Connection] = set()
        self._closed = False

    @contextlib.contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a connection, waiting for one if all are lent.

        Raises ChannelDown if none can be opened, PoolClosed after `close`.
        """
        connection = self.take()
        try:
            yield connection
        finally:
            self.give_back(connection)

    def take(self) -> Connection:
        """Lend a connection until it is given back; otherwise as `connection`."""
        self._free.acquire()
        try:
            return self._take()
        except BaseException:
            self._free.release()
            raise

    def take_warm(self) -> Connection | None:
        """Lend a connection that was used just now; None where one had to be waited for."""
        if not self._free.acquire(blocking=False):
            return None
        with self._lock:
            is_warm = bool(self._idle) and not self._closed and self._is_warm(*self._idle[-1])
            if is_warm:
                connection, _ = self._idle.pop()
                self._busy.add(connection)
                return connection
        self._free.release()
        return None

    def give_back(self, connection: Connection) -> None:
        """Take a connection back, and leave of the server if it has done its work."""
        try:
            self._give_back(connection)
        finally:
            self._free.release()

    def close_idle(self) -> None:
        """Close the connections that nobody has used for a minute. To be called now and then."""
        oldest = self._clock() - MOST_IDLE_SECONDS
        with self._lock:
            old = [connection for connection, since in self._idle if since <= oldest]
            self._idle = [kept for kept in self._idle if kept[1] > oldest]
        for connection in old:
            connection.quit()

    def close(self) -> None:
        """Take leave of the server on all idle connections; lent ones follow as they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.quit()

    def abort(self) -> None:
        """Break off every conversation in progress, and close the pool."""
        with self._lock:
            busy = list(self._busy)
            self._closed = True
        for connection in busy:
            connection.abort()
        self.close()

    def _take(self) -> Connection:
        self.close_idle()
        while True:
            with self._lock:
                if self._closed:
                    raise PoolClosed
                kept = self._idle.pop() if self._idle else None
                if kept is not None:
                    self._busy.add(kept[0])
            if kept is None:
                return self._opened()
            if self._is_fit(*kept):
                return kept[0]
            self._discard(kept[0])

    def _opened(self) -> Connection:
        connection = self._open()
        with self._lock:
            self._busy.add(connection)
            closed = self._closed
        if closed:  # while it was being opened
            self._discard(connection)
            raise PoolClosed
        return connection

    def _is_fit(self, connection: Connection, since: float) -> bool:
        return self._is_warm(connection, since) or (connection.usable and connection.reset())

    def _is_warm(self, connection: Connection, since: float) -> bool:
        return connection.usable and self._clock() - since <= UNCHECKED_IDLE_SECONDS

    def _give_back(self, connection: Connection) -> None:
        with self._lock:
            kept = connection.usable and connection.messages < MOST_MESSAGES and not self._closed
            if kept:
                self._busy.discard(connection)
                self._idle.append((connection, self._clock()))
        if not kept:
            self._discard(connection)

    def _discard(self, connection: Connection) -> None:
        connection.quit()
        with self._lock:
            self._busy.discard(connection)
