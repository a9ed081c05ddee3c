"""A TCP proxy before PostgreSQL that can stop passing bytes without closing anything."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote


@dataclass(eq=False)
class _Pair:
    near: socket.socket
    far: socket.socket
    passing: threading.Event = field(default_factory=threading.Event)


class TcpProxy:
    """Passes bytes to the server that Django's parameters name, from 127.0.0.1 and a port."""

    def __init__(self, database: dict[str, Any]) -> None:
        self._database = database
        self._pairs: list[_Pair] = []
        self._ended = threading.Event()
        self._new_pass = True
        self._listening = self._listen(0)
        self.port: int = self._listening.getsockname()[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.refuse()
        for pair in self._pairs:
            pair.near.close()
            pair.far.close()

    @property
    def url(self) -> str:
        """Return the URL of the same database through this proxy."""
        user, password = self._database["USER"], password_of(self._database)
        name = quote(self._database["NAME"])
        login = f"{quote(user)}:{quote(password)}" if password else quote(user)
        return f"postgresql://{login}@127.0.0.1:{self.port}/{name}?sslmode=disable"

    @property
    def settings(self) -> dict[str, Any]:
        """Return Django's settings of the same database through this proxy."""
        return {
            **self._database,
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "PASSWORD": password_of(self._database),
        }

    def freeze(self, *, new_too: bool = False) -> None:
        """Pass nothing on, on the connections that are open, or on new ones too."""
        self._new_pass = not new_too
        for pair in self._pairs:
            pair.passing.clear()

    def thaw(self) -> None:
        """Pass on what waits and what comes."""
        self._new_pass = True
        for pair in self._pairs:
            pair.passing.set()

    def refuse(self) -> None:
        """Take no connections and end those that are open, as a server that is down."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for pair in self._pairs:
            _end(pair)

    def accept_again(self) -> None:
        """Take connections again, at the same port."""
        self._listening = self._listen(self.port)

    def _listen(self, port: int) -> socket.socket:
        listening = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, args=(listening,), daemon=True).start()
        return listening

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                near, _ = listening.accept()
            except OSError:
                return
            pair = _Pair(near, self._reach())
            if self._new_pass:
                pair.passing.set()
            self._pairs.append(pair)
            for source, target in ((pair.near, pair.far), (pair.far, pair.near)):
                threading.Thread(
                    target=self._pump, args=(pair, source, target), daemon=True
                ).start()

    def _reach(self) -> socket.socket:
        host, port = self._database["HOST"], self._database["PORT"] or 5432
        if not host.startswith("/"):
            return socket.create_connection((host or "127.0.0.1", int(port)))
        far = socket.socket(socket.AF_UNIX)
        far.connect(str(Path(host) / f".s.PGSQL.{port}"))
        return far

    def _pump(self, pair: _Pair, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            while not self._ended.is_set():
                if not select.select([source], [], [], 0.1)[0]:
                    continue
                content = source.recv(65536)
                while not pair.passing.wait(0.1):
                    if self._ended.is_set():
                        return
                if not content:
                    break
                self.relay(pair, source, target, content)
        _end(pair)

    def relay(
        self, pair: _Pair, source: socket.socket, target: socket.socket, content: bytes
    ) -> None:
        """Pass on what came. Overridden by proxies that lose something."""
        target.sendall(content)

    def cut(self, pair: _Pair) -> None:
        """End both sides of a connection."""
        _end(pair)


def password_of(database: dict[str, Any]) -> str:
    """Return the password, also where a passfile has it."""
    passfile = database["OPTIONS"].get("passfile")
    if database["PASSWORD"] or not passfile:
        return str(database["PASSWORD"])
    entries = (line.split(":") for line in Path(passfile).read_text().splitlines())
    return next(entry[4] for entry in entries if entry[3] == database["USER"])


def _end(pair: _Pair) -> None:
    for end in (pair.near, pair.far):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
