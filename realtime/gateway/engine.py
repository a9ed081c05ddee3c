"""Engine.IO and Socket.IO as they are, with what waits for each client bounded."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import engineio
import socketio

from jobs.loglimit import LineLimit
from realtime.gateway.limits import MOST_MESSAGE_BYTES, BoundedQueue
from realtime.gateway.wire import Wire, current_wire

logger = logging.getLogger(__name__)
# From a connection to who it is; then it is closed.
GREETING_SECONDS = 20.0


class EngineServer(engineio.AsyncServer):  # type: ignore[misc]
    """Disconnects a client for which too much waits."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._tasks: set[asyncio.Task[None]] = set()
        self._lines = LineLimit()

    def create_queue(self, *_args: Any, **_options: Any) -> BoundedQueue:
        """Make the queue of a new client; Engine.IO calls it once for each."""
        queue = BoundedQueue(wire=current_wire.get())
        queue.on_full = lambda: self._abort_later(queue)
        return queue

    def attach_wire(self, eio_sid: str, wire: Wire) -> None:
        """Note the WebSocket that a client goes over to."""
        if (socket := self.sockets.get(eio_sid)) is not None:
            socket.queue.wire = wire

    async def rest(self, eio_sid: str) -> None:
        """Keep a client that posts to its pace."""
        if (socket := self.sockets.get(eio_sid)) is not None:
            await asyncio.sleep(socket.queue.pace.take())

    async def abort(self, eio_sid: str, *, why: str) -> None:
        """End a connection now, whether or not its client reads."""
        socket = self.sockets.pop(eio_sid, None)
        if socket is None:
            return
        if self._lines.allows():
            logger.warning("realtime_client_cut reason=%s", why)
        socket.queue.clear()
        await socket.close(wait=False, abort=True, reason=self.reason.SERVER_DISCONNECT)
        await socket.queue.put(None)
        if socket.queue.wire is not None:
            socket.queue.wire.cut()

    async def abort_wire(self, wire: Wire, *, why: str) -> None:
        """End the connection on a WebSocket."""
        for sid, socket in list(self.sockets.items()):
            if socket.queue.wire is wire:
                await self.abort(sid, why=why)

    def strangers(self, known: set[str]) -> list[str]:
        """Return connections that have not said in time who they are."""
        before = time.monotonic() - GREETING_SECONDS
        return [
            sid
            for sid, socket in self.sockets.items()
            if sid not in known and socket.queue.made_at < before
        ]

    def _abort_later(self, queue: BoundedQueue) -> None:
        sid = next((sid for sid, one in self.sockets.items() if one.queue is queue), None)
        if sid is not None:
            task = asyncio.create_task(self.abort(sid, why="does not read"))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


class SocketServer(socketio.AsyncServer):  # type: ignore[misc]
    """Socket.IO on that Engine.IO."""

    eio: EngineServer

    def _engineio_server_class(self) -> type[EngineServer]:
        return EngineServer


def make_server(manager: socketio.AsyncManager) -> SocketServer:
    """Make the server; origins are checked before a request comes to it."""
    lines = logging.getLogger("realtime.gateway.packets")
    lines.setLevel(logging.ERROR)
    if not lines.filters:
        # Whoever sends rubbish does not fill the log.
        limit = LineLimit()
        lines.addFilter(lambda _record: limit.allows())
    return SocketServer(
        async_mode="asgi",
        client_manager=manager,
        # One event of a client after the other: an unsubscribe does not overtake.
        async_handlers=False,
        cors_allowed_origins=lambda _origin, _environ: True,
        max_http_buffer_size=MOST_MESSAGE_BYTES,
        logger=lines,
        engineio_logger=lines,
    )
