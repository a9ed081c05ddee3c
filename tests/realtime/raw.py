"""A client that speaks the protocol by hand, and reads only when it is told to."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from typing import Any, Self
from urllib.parse import urlsplit

from websockets.client import ClientProtocol
from websockets.uri import parse_uri

SECONDS = 20


class DeafClient:
    """Connects, signs in with the token if there is one, subscribes, and reads nothing more."""

    def __init__(self, url: str, *, token: str = "", topics: Sequence[str] = ()) -> None:
        parts = urlsplit(url)
        address = f"ws://{parts.netloc}/socket.io/?EIO=4&transport=websocket"
        self._socket = socket.socket()
        # Before the connection: it is the window that is announced.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        self._socket.settimeout(SECONDS)
        self._socket.connect((parts.hostname, parts.port))
        self._protocol = ClientProtocol(parse_uri(address))
        self._protocol.send_request(self._protocol.connect())
        self._write()
        while not self._protocol.events_received():
            self._protocol.receive_data(self._socket.recv(4096))
        if token:
            self.send("40" + json.dumps({"token": token}))
        for topic in topics:
            self.emit("subscribe", {"topic": topic})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def emit(self, event: str, data: Any) -> None:
        self.send("420" + json.dumps([event, data]))

    def send(self, text: str) -> None:
        self._protocol.send_text(text.encode())
        self._write()

    def pong(self, data: bytes) -> None:
        self._protocol.send_pong(data)
        self._write()

    @property
    def is_open(self) -> bool:
        """Whether this side has not closed."""
        return self._socket.fileno() >= 0

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self) -> bytes:
        """Return what has come, at least a byte; nothing once the server has closed."""
        return self._socket.recv(262_144)

    def await_text(self, text: bytes) -> bytes:
        """Read until the text has come; return all that was read."""
        data = b""
        while text not in data:
            more = self.read()
            assert more, data
            data += more
        return data

    def await_end(self) -> None:
        """Read until the server has closed the connection."""
        while self._socket.recv(65_536):
            pass

    def _write(self) -> None:
        for data in self._protocol.data_to_send():
            self._socket.sendall(data)
