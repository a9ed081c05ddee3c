"""The connections of a stream: taken from the pool, read and written without waiting."""

from __future__ import annotations

import smtplib
import socket
import ssl
import threading
from collections.abc import Callable

from emails.errors import ChannelDown, PoolClosed
from emails.pool import MOST_MESSAGES, Pool
from emails.smtp import Connection

CHUNK = 65536
NOT_NOW = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
Submit = Callable[[Callable[[], None]], None]


class Lines:
    """Connections lent by the pool to one stream."""

    def __init__(self, pool: Pool, *, submit: Submit) -> None:
        """Take connections from a pool; `submit` runs in another thread what waits for a server."""
        self.pool = pool
        self.opening = 0
        self.is_down = False  # no connection can be opened
        self._submit = submit
        self._lock = threading.Lock()
        self._opened: list[Connection | None] = []
        self._is_closed = False
        self.bell, self._button = socket.socketpair()  # rings when there is news
        self.bell.setblocking(False)  # noqa: FBT003

    def take_warm(self) -> Connection | None:
        """Take a connection that was used just now; None where that would mean to wait."""
        connection = self.pool.take_warm()
        if connection is not None and not connection.is_free:
            self.pool.give_back(connection)
            return None
        return connection

    def open(self) -> None:
        """Have a connection opened, or asked whether it is still there; then the bell rings."""
        self.opening += 1
        self._submit(self._open)

    def ring(self) -> None:
        """Ring the bell: something else has come for the one who listens."""
        with self._lock:
            if not self._is_closed:
                self._button.send(b"!")

    def take_opened(self) -> list[Connection]:
        """Return what was opened since the last time."""
        with self._lock:
            opened, self._opened = self._opened, []
            self.bell.recv(CHUNK)
        self.opening -= len(opened)
        self.is_down |= None in opened
        return [connection for connection in opened if connection is not None]

    def give_back(self, connection: Connection) -> None:
        """Give a connection back; to take leave of its server may last."""
        if connection.usable and connection.messages >= MOST_MESSAGES:
            self._submit(lambda: self.pool.give_back(connection))
        else:
            self.pool.give_back(connection)

    def close(self) -> None:
        """Give back what was opened and not taken, and what will be."""
        with self._lock:
            self._is_closed = True
            opened, self._opened = self._opened, []
            self.bell.close()
            self._button.close()
        for connection in opened:
            if connection is not None:
                self.pool.give_back(connection)

    @staticmethod
    def read(connection: Connection) -> tuple[bytes, OSError | None]:
        """Return what the server said, and how the connection has ended if it has."""
        sock, found = connection.sock, b""
        if sock is None:
            return b"", ConnectionError("the connection is closed")
        if sock.gettimeout() != 0:
            sock.settimeout(0)
        try:
            # Of TLS there may be more than the socket shows: all of it, or it is never seen.
            while data := sock.recv(CHUNK):
                found += data
                if not isinstance(sock, ssl.SSLSocket):
                    return found, None
        except NOT_NOW:
            return found, None
        except OSError as error:
            return found, error
        return found, smtplib.SMTPServerDisconnected("Connection unexpectedly closed")

    @staticmethod
    def write(connection: Connection, data: bytes) -> tuple[bytes, OSError | None]:
        """Write what the server takes now; return the rest, and what went wrong if it did."""
        sock = connection.sock
        if sock is None:
            return data, ConnectionError("the connection is closed")
        try:
            while data:
                data = data[sock.send(data) :]
        except NOT_NOW:
            pass
        except OSError as error:
            return data, error
        return data, None

    def _open(self) -> None:
        try:
            connection = self.pool.take()
            while not connection.settle():
                self.pool.give_back(connection)
                connection = self.pool.take()
        except (ChannelDown, PoolClosed):
            self._arrive(None)
        else:
            self._arrive(connection)

    def _arrive(self, connection: Connection | None) -> None:
        with self._lock:
            if not self._is_closed:
                self._opened.append(connection)
                self._button.send(b"!")
                return
        if connection is not None:
            self.pool.give_back(connection)
