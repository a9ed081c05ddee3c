"""
python-socketio as it is, to be measured beside the gateway.

With ``BENCH_REDIS`` in the environment, behind its Redis manager. A client that says ``go``
makes it emit so many events with a pause after each; the first says when it was emitted.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

import socketio

REDIS = os.environ.get("BENCH_REDIS")
# Without it, redis-py takes five idle seconds for a lost connection.
OPTIONS = {"socket_timeout": None}
manager = socketio.AsyncRedisManager(REDIS, redis_options=OPTIONS) if REDIS else None
server = socketio.AsyncServer(async_mode="asgi", client_manager=manager)
application = socketio.ASGIApp(server)


@server.on("go")
async def go(_sid: str, wish: dict[str, Any]) -> list[float]:
    """Emit; return when each was emitted."""
    emitted = []
    for _ in range(wish["count"]):
        emitted.append(time.time())
        await server.emit("event", {"text": "x" * 200})
        await asyncio.sleep(wish["pause"])
    return emitted
