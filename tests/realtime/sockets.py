"""Stock Socket.IO clients of Python, on an event loop of their own thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Self, TypeVar

import socketio

from tests.conftest import wait_until

T = TypeVar("T")
SECONDS = 20


class Sockets:
    """The clients of a test; use it in a `with`."""

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.clients: list[SocketClient] = []
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SECONDS)
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T], *, seconds: float = SECONDS) -> T:
        """Run on the clients' loop and return the result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(seconds)

    def connect(self, url: str, **options: Any) -> SocketClient:
        """Connect a client; see `SocketClient.connect`."""
        return self.run(self.connecting(url, **options))

    async def connecting(self, url: str, **options: Any) -> SocketClient:
        client = SocketClient(self)
        self.clients.append(client)
        await client.open(url, **options)
        return client

    async def _close(self) -> None:
        await asyncio.gather(*(client.close() for client in self.clients))
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


class SocketClient:
    """One client, and what it was told, in order."""

    def __init__(self, sockets: Sockets) -> None:
        self._sockets = sockets
        self.io = socketio.AsyncClient(reconnection=False)
        self.told: list[tuple[str, Any]] = []
        self.io.on("*", self._note)
        self.refusals: list[Any] = []
        self.io.on("connect_error", self.refusals.append)
        self.io.on("disconnect", lambda *reason: self.told.append(("disconnect", reason)))

    def _note(self, event: str, data: Any) -> None:
        self.told.append((event, data))

    async def open(
        self,
        url: str,
        *,
        token: str | None = None,
        session: str | None = None,
        transports: tuple[str, ...] = ("websocket",),
        origin: str | None = None,
    ) -> None:
        headers = {"Cookie": f"sessionid={session}"} if session else {}
        if origin:
            headers["Origin"] = origin
        await self.io.connect(
            url,
            headers=headers,
            auth={"token": token} if token else None,
            transports=list(transports),
            wait_timeout=SECONDS,
        )

    async def close(self) -> None:
        await self.io.disconnect()

    async def asking(self, event: str, data: Any) -> Any:
        return await self.io.call(event, data, timeout=SECONDS)

    def ask(self, event: str, data: Any) -> Any:
        """Send an event and return its acknowledgement."""
        return self._sockets.run(self.asking(event, data))

    def subscribe(self, topic: str, **more: Any) -> Any:
        return self.ask("subscribe", {"topic": topic, **more})

    def disconnect(self) -> None:
        self._sockets.run(self.close())

    @property
    def sid(self) -> str:
        return str(self.io.get_sid("/"))

    @property
    def events(self) -> list[Any]:
        return [data for event, data in self.told if event == "event"]

    @property
    def payloads(self) -> list[Any]:
        return [data["payload"] for data in self.events]

    def names(self) -> list[str]:
        return [event for event, _ in self.told]

    def await_end(self) -> None:
        """Wait until the client was told the end, an event with that payload."""
        wait_until(lambda: "end" in self.payloads, what=f"the end, so far {self.told}")

    def await_told(self, count: int, *, seconds: float = SECONDS) -> list[tuple[str, Any]]:
        """Wait until so much was told, and return it."""
        wait_until(
            lambda: len(self.told) >= count,
            seconds=seconds,
            what=f"{count} told, so far {len(self.told)}",
        )
        return self.told
