"""python-socketio's client manager over PostgreSQL: processes share clients by the bus alone."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from socketio.async_pubsub_manager import AsyncPubSubManager

from jobs.loglimit import LineLimit
from realtime.errors import BusTextError, SharedEmitError
from realtime.gateway.connection import connect, rows
from realtime.gateway.listening import BusStream

logger = logging.getLogger(__name__)
# How a message of python-socketio itself begins, such as that a socket is to be closed.
OWN = '{"method":'


class PostgresManager(AsyncPubSubManager):  # type: ignore[misc]
    """
    Hears the bus. What ``realtime.publish`` brings goes to ``deliver``; what the managers
    of python-socketio say to each other is handled as in its own managers.

    ``_listen`` never returns, and a message that cannot be published raises.
    """

    name = "postgres"

    def __init__(
        self, *, deliver: Callable[[int, str], Awaitable[None]], stream: BusStream
    ) -> None:
        super().__init__(channel="realtime_bus")
        self.stream = stream
        self._deliver = deliver
        self._lines = LineLimit()

    async def emit(self, event: Any, *_args: Any, **_options: Any) -> None:
        """Refuse: the one place that emits is ``realtime.gateway.emitting``."""
        raise SharedEmitError(event)

    async def _publish(self, data: dict[str, Any]) -> None:
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        async with await connect("engineroom-realtime-publish") as connection:
            await rows(connection, "bus_publish", sender=self.host_id, message=text)

    async def _listen(self) -> AsyncIterator[str]:
        async for number, text in self.stream.items():
            if text.startswith(OWN):
                yield text
            else:
                await self._hand_on(number, text)

    async def _hand_on(self, number: int, text: str) -> None:
        try:
            await self._deliver(number, text)
        except BusTextError as error:
            # A newer version's, during a deploy: the others go on.
            self._warn("bus_message_not_understood number=%s error=%s", number, error)
        except Exception:  # noqa: BLE001 (one message stops no other)
            self._warn("bus_message_not_delivered number=%s", number, exc_info=True)

    def _warn(self, line: str, *values: object, exc_info: bool = False) -> None:
        if self._lines.allows():
            logger.warning(line, *values, exc_info=exc_info)
