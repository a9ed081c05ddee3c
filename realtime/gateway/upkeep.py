"""What a process with clients does again and again."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable

from jobs.loglimit import LineLimit
from realtime.gateway import sessions
from realtime.gateway.delivery import Delivery
from realtime.gateway.engine import SocketServer
from realtime.gateway.subscriptions import Client, Subscriptions
from realtime.gateway.threads import DatabaseThreads

logger = logging.getLogger(__name__)
PRUNE_SECONDS = 60.0
STRANGERS_SECONDS = 5.0
CHUNK = 200


class Upkeep:
    """Renews sessions, drops who is no longer signed in, removes what is old."""

    def __init__(
        self,
        server: SocketServer,
        *,
        subscriptions: Subscriptions,
        delivery: Delivery,
        threads: DatabaseThreads,
        process_id: str,
    ) -> None:
        self._server = server
        self._subscriptions = subscriptions
        self._delivery = delivery
        self._threads = threads
        self._process_id = process_id
        self._lines = LineLimit()

    async def run(self) -> None:
        """Do all of it until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._every(sessions.RENEW_SECONDS, self.renew))
            group.create_task(self._every(PRUNE_SECONDS, self.prune))
            group.create_task(self._every(STRANGERS_SECONDS, self.send_strangers_away))

    async def renew(self) -> None:
        """Renew every session; drop the clients whose sign-in has ended."""
        clients = self._subscriptions.all()
        for start in range(0, len(clients), CHUNK):
            await self._renew(clients[start : start + CHUNK])

    async def prune(self) -> None:
        """Remove old rows of the bus and expired sessions."""
        await self._threads.run(sessions.prune)

    async def send_strangers_away(self) -> None:
        """Close connections that do not say who they are."""
        known = {client.eio_sid for client in self._subscriptions.all()}
        for eio_sid in self._server.eio.strangers(known):
            await self._server.eio.abort(eio_sid, why="says not who it is")

    async def _renew(self, clients: list[Client]) -> None:
        ended = await self._threads.run(sessions.ended, [one.identity for one in clients])
        staying = [client for client in clients if client.identity not in ended]
        for client in clients:
            if client.identity in ended:
                await self._server.disconnect(client.sid)
        renewed = await self._threads.run(sessions.renew, [client.sid for client in staying])
        for client in staying:
            if client.sid not in renewed and self._subscriptions.get(client.sid) is client:
                await self._record_anew(client)

    async def _record_anew(self, client: Client) -> None:
        """Bring back an expired session; meanwhile it may have been left out."""
        await self._threads.run(
            sessions.write,
            client.sid,
            user_key=client.user_key,
            topics=sorted(client.topics),
            process_id=self._process_id,
        )
        await self._delivery.resync(client, *client.topics)

    async def _every(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            # Spread, so that processes that began together do not ask together.
            await asyncio.sleep(seconds * random.uniform(0.8, 1.0))  # noqa: S311 (no secret)
            try:
                await work()
            except Exception:
                if self._lines.allows():
                    logger.warning("realtime_upkeep_failed", exc_info=True)
