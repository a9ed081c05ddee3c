"""The gateway as an ASGI application around the site's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs

from jobs.failure import headline
from realtime.gateway.gateway import Gateway
from realtime.gateway.origins import is_allowed
from realtime.gateway.threads import THREADS
from realtime.gateway.wire import Receive, Send, Wire, current_wire

Scope = MutableMapping[str, Any]
Application = Callable[[Any, Any, Any], Awaitable[None]]
PATH = "/socket.io/"
REFUSAL = b'"This origin or host may not connect."'


class GatewayApplication:
    """Serves ``/socket.io/``, and starts and stops the gateway; the rest is the site's."""

    # One that listens, and those of the threads.
    database_connections = 1 + THREADS

    def __init__(self, application: Application) -> None:
        self._application = application

    @cached_property
    def gateway(self) -> Gateway:
        """The gateway of this process: made by the first who asks, after a fork if there is one."""
        return Gateway()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] in ("http", "websocket") and _path(scope).startswith(PATH):
            self.gateway.start()
            await self._serve(scope, receive, send)
        else:
            await self._application(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_allowed(scope):
            await _refuse(scope, send)
            return
        eio_sid = parse_qs(scope["query_string"].decode("latin-1")).get("sid", [""])[0]
        server = self.gateway.server
        if scope["type"] == "http":
            if scope["method"] == "POST":
                await server.eio.rest(eio_sid)
            await server.handle_request(scope, receive, send)
            return
        wire = Wire(receive, send)
        server.eio.attach_wire(eio_sid, wire)
        current_wire.set(wire)
        try:
            await server.handle_request(scope, wire.receive, wire.send)
        except Exception as error:  # noqa: BLE001 (what a client sends is no error of the site)
            await server.eio.abort_wire(wire, why=headline(error))

    async def _live(self, receive: Receive, send: Send) -> None:
        """Answer the server's own events: Django's application knows none of them."""
        while True:
            match (await receive())["type"]:
                case "lifespan.startup":
                    self.gateway.start()
                    await send({"type": "lifespan.startup.complete"})
                case "lifespan.shutdown":
                    await self.gateway.stop()
                    await send({"type": "lifespan.shutdown.complete"})
                    return


def _path(scope: Scope) -> str:
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", "")).rstrip("/") + "/"


async def _refuse(scope: Scope, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(REFUSAL))]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": REFUSAL})
