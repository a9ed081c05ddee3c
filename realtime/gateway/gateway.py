"""The parts of a process's gateway, put together."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from jobs.health.state import health
from jobs.identity import process_name
from realtime.gateway import sessions
from realtime.gateway.delivery import Delivery
from realtime.gateway.emitting import Emitter
from realtime.gateway.engine import make_server
from realtime.gateway.handlers import Handlers
from realtime.gateway.leaving import Leaving
from realtime.gateway.listening import BusStream
from realtime.gateway.manager import PostgresManager
from realtime.gateway.subscriptions import Subscriptions
from realtime.gateway.threads import DatabaseThreads
from realtime.gateway.upkeep import Upkeep

logger = logging.getLogger(__name__)


class Gateway:
    """One Socket.IO server and what belongs to it. Start it on the loop that serves."""

    def __init__(self) -> None:
        process_id = process_name()
        self._process_id = process_id
        self._tasks: list[asyncio.Task[None]] = []
        self._threads = DatabaseThreads()
        self.stream = BusStream(on_gap=self._tell_all)
        manager = PostgresManager(deliver=self._deliver, stream=self.stream)
        self.server = make_server(manager)
        self.subscriptions = Subscriptions(manager, has_come=self.stream.reader.has_seen)
        self.delivery = Delivery(Emitter(self.server), self.subscriptions)
        self.upkeep = Upkeep(
            self.server,
            subscriptions=self.subscriptions,
            delivery=self.delivery,
            threads=self._threads,
            process_id=process_id,
        )
        Handlers(
            self.server,
            stream=self.stream,
            subscriptions=self.subscriptions,
            delivery=self.delivery,
            threads=self._threads,
            leaving=Leaving(self._threads),
            process_id=process_id,
        )

    def start(self) -> None:
        """Listen to the bus and keep the sessions; again is no harm."""
        if self._tasks:
            return
        self.server.manager_initialized = True
        self.server.manager.initialize()
        self._tasks = [self.server.manager.thread, asyncio.create_task(self.upkeep.run())]
        health.describe("realtime", self.describe)

    async def stop(self) -> None:
        """End it; rows of sockets that are still open are removed."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task
        try:
            await self._threads.run(sessions.forget_process, self._process_id)
        except Exception:
            logger.warning("realtime_sessions_not_removed", exc_info=True)
        await asyncio.to_thread(self._threads.close)

    def describe(self) -> dict[str, object]:
        """Return what ``/readyz`` shows of it."""
        return {
            "listen": self.stream.state.value,
            "reason": self.stream.reason,
            "clients": len(self.subscriptions),
        }

    async def _deliver(self, number: int, text: str) -> None:
        await self.delivery.deliver(number, text)

    async def _tell_all(self) -> None:
        logger.warning("realtime_gap clients=%d", len(self.subscriptions))
        await self.delivery.resync_all()
