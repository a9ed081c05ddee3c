"""One WebSocket between the ASGI server and Engine.IO, that can be cut and never hangs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

from realtime.gateway.limits import FLOOD_SECONDS, SEND_SECONDS, Pace

Event = dict[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]

GONE: Event = {"type": "websocket.disconnect", "code": 1008}

# The wire of the request that is being served, for the socket that Engine.IO makes for it.
current_wire: ContextVar[Wire | None] = ContextVar("current_wire", default=None)


class Wire:
    """
    Stands for the server's ``receive`` and ``send``.

    A client that does not read blocks a write for ever, and one that floods is read as fast
    as it sends; here a write has a limit, and reading keeps a pace.
    """

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._pace = Pace()
        self._rested = 0.0
        self._cut = asyncio.Event()

    def cut(self) -> None:
        """Let both sides see the end of the connection."""
        self._cut.set()

    async def receive(self) -> Event:
        """Return the next event; the end once the wire is cut, or its client floods."""
        rest = self._pace.take()
        self._rested = self._rested + rest if rest else 0.0
        if self._rested > FLOOD_SECONDS or not await self._rests(rest):
            self.cut()
            return GONE
        heard = asyncio.ensure_future(self._receive())
        cut = asyncio.ensure_future(self._cut.wait())
        try:
            await asyncio.wait({heard, cut}, return_when=asyncio.FIRST_COMPLETED)
            return heard.result() if heard.done() else GONE
        finally:
            for waiting in (heard, cut):
                waiting.cancel()

    async def send(self, event: Event) -> None:
        """Write; a write that takes too long cuts the wire, which raises OSError."""
        if self._cut.is_set():
            if event["type"] == "websocket.close":
                return
            raise ConnectionAbortedError
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self._send(event)
        except TimeoutError:
            self.cut()
            raise

    async def _rests(self, seconds: float) -> bool:
        """Wait; return False when the wire is cut meanwhile."""
        if not seconds:
            return not self._cut.is_set()
        try:
            async with asyncio.timeout(seconds):
                await self._cut.wait()
        except TimeoutError:
            return True
        return False
