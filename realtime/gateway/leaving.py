"""Rows of sockets that have closed, removed together: a deploy closes all of them at once."""

from __future__ import annotations

import asyncio
import logging

from jobs.loglimit import LineLimit
from realtime.gateway import sessions
from realtime.gateway.threads import DatabaseThreads

logger = logging.getLogger(__name__)
GATHER_SECONDS = 0.05


class Leaving:
    """Gathers socket ids and removes their rows; those it cannot remove expire."""

    def __init__(self, threads: DatabaseThreads) -> None:
        self._threads = threads
        self._sids: list[str] = []
        self._removal: asyncio.Task[None] | None = None
        self._lines = LineLimit()

    async def forget(self, sid: str) -> None:
        """Remove the row of a socket; return when that is done."""
        self._sids.append(sid)
        if self._removal is None:
            self._removal = asyncio.create_task(self._remove())
        await asyncio.shield(self._removal)

    async def _remove(self) -> None:
        await asyncio.sleep(GATHER_SECONDS)
        sids, self._sids, self._removal = self._sids, [], None
        try:
            await self._threads.run(sessions.forget, sids)
        except Exception:
            if self._lines.allows():
                logger.warning("realtime_sessions_not_removed count=%d", len(sids), exc_info=True)
