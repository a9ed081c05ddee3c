"""
The stream of the bus, as one process hears it: nothing lost, nothing doubled.

It listens first, then catches up, then streams; whatever ends the connection, it begins
again. A transaction-pooling proxy accepts LISTEN and delivers nothing: until a nonce of
its own has come back, and again when none does, it looks at the bus every 250 ms.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from django.db import DEFAULT_DB_ALIAS
from psycopg import sql

from jobs import conf, notifier
from jobs.errors import ListenSilentError
from jobs.failure import headline
from jobs.loglimit import LineLimit
from jobs.models.worker import ListenState
from jobs.postman import Note
from jobs.workers.probe import EchoProbe
from realtime.bus import CHANNEL, split_notification
from realtime.errors import BusTextError
from realtime.gateway.connection import STEP_SECONDS, Connection, connect
from realtime.gateway.reading import Reader

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.25
# How often a listening process looks at the bus all the same, which moves its place.
LOOK_SECONDS = 5.0
PROBE_SECONDS = 15.0
ECHO_SECONDS = 3.0
SILENT_RETRY_SECONDS = 60.0
FIRST_RETRY_SECONDS = 0.1
LONGEST_RETRY_SECONDS = 10.0

Item = tuple[int, str]


class BusStream:
    """Yields number and text of each message; calls ``on_gap`` when some cannot be read."""

    def __init__(self, *, on_gap: Callable[[], Awaitable[None]]) -> None:
        self.reader = Reader(on_gap=on_gap)
        self.state = ListenState.STARTING
        # Why it polls, or what keeps it from the database; None while it listens.
        self.reason: str | None = None
        # Set once the first place is found: who subscribes before would miss something.
        self.begun = asyncio.Event()
        self._failures = 0
        self._silence_said = False
        self._lines = LineLimit()
        self._good_lines = LineLimit()
        self._probe: EchoProbe | None = None
        self._probe_again_at = 0.0
        self._look_at = 0.0

    async def items(self) -> AsyncIterator[Item]:
        """Yield messages for ever."""
        while True:
            try:
                async for item in self._attend():
                    yield item
            except Exception as error:  # noqa: BLE001 (a listener that ends is deaf for good)
                await asyncio.sleep(self._lose(error))

    async def _attend(self) -> AsyncIterator[Item]:
        """Yield messages until the connection is lost, which raises."""
        async with await connect("engineroom-realtime") as connection:
            await self._listen(connection, CHANNEL)
            self._probe, self._probe_again_at = None, 0.0
            if not conf.WORKER_LISTEN.get():
                self._probe_again_at = float("inf")
                self._poll(f"{conf.WORKER_LISTEN.name} is off")
            await self.reader.begin(connection)
            while True:
                # Before the wait for news: what was missed comes before what is new.
                if time.monotonic() >= self._look_at:
                    async for item in self.reader.missed(connection):
                        yield item
                    self._looked()
                async for item in self._hear(connection):
                    yield item

    async def _hear(self, connection: Connection) -> AsyncIterator[Item]:
        """Yield what is notified, until it is time for something else."""
        seconds = min(await self._pulse(connection), self._look_at - time.monotonic())
        heard = connection.notifies(timeout=max(seconds, 0.0), stop_after=1)
        async for note in heard:
            if note.channel != CHANNEL:
                self._echo(note.payload)
                continue
            try:
                number, text = split_notification(note.payload)
            except BusTextError:
                self._warn("bus_notification_not_understood payload=%.80s", note.payload)
                continue
            if text is None:
                # Too long for NOTIFY: read with all that is missed, in its order.
                self._look_at = 0.0
            elif self._look_at and self.reader.take(number):
                yield number, text

    async def _listen(self, connection: Connection, channel: str) -> None:
        async with asyncio.timeout(STEP_SECONDS):
            await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))

    async def _pulse(self, connection: Connection) -> float:
        """Send a nonce when one is due; return in how many seconds to call again."""
        if self._probe is None:
            if time.monotonic() < self._probe_again_at:
                return POLL_SECONDS
            self._probe = _new_probe()
            await self._listen(connection, self._probe.channel)
        try:
            return self._probe.pulse()
        except ListenSilentError as error:
            if error.was_proved:
                raise
            self._probe, self._probe_again_at = None, time.monotonic() + SILENT_RETRY_SECONDS
            self._poll(headline(error))
            return POLL_SECONDS

    def _echo(self, nonce: str) -> None:
        if self._probe is not None and self._probe.hear(nonce):
            self.state, self.reason, self._silence_said = ListenState.LISTENING, None, False
            if self._good_lines.allows():
                logger.info("realtime_listening channel=%s", CHANNEL)

    def _looked(self) -> None:
        is_proved = self._probe is not None and self._probe.proved
        self._look_at = time.monotonic() + (LOOK_SECONDS if is_proved else POLL_SECONDS)
        self._failures = 0
        self.begun.set()

    def _poll(self, reason: str) -> None:
        """Say once that the bus is polled."""
        self.state, self.reason = ListenState.POLLING, reason
        if not self._silence_said:
            self._silence_said = True
            logger.warning("realtime_polling every_ms=%d reason=%s", POLL_SECONDS * 1000, reason)

    def _lose(self, error: Exception) -> float:
        """Return in how many seconds to connect again."""
        self.state, self.reason = ListenState.POLLING, headline(error)
        self._look_at = 0.0
        self._warn("realtime_listen_lost reason=%s", self.reason)
        pause = min(FIRST_RETRY_SECONDS * 2.0 ** min(self._failures, 10), LONGEST_RETRY_SECONDS)
        self._failures += 1
        return pause * random.uniform(0.75, 1.0)  # noqa: S311 (spreads replicas, keeps no secret)

    def _warn(self, text: str, *values: object) -> None:
        if self._lines.allows():
            logger.warning(text, *values)


def _new_probe() -> EchoProbe:
    sender = notifier.notifier_of(DEFAULT_DB_ALIAS)
    return EchoProbe(
        send=lambda channel, nonce: sender.add(Note(channel, nonce), at_once=True),
        trouble=lambda: sender.trouble,
        every_seconds=PROBE_SECONDS,
        within_seconds=ECHO_SECONDS,
    )
