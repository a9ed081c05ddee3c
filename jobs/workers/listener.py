"""
Hears NOTIFY on a connection of its own and says what to look at.

LISTEN fails in silence: a half-open connection, or a transaction-pooling proxy, accepts it
and delivers nothing. So the listener says LISTENING only while its own probes come back.
With LISTEN gone the workers poll; nothing but the latency depends on it.
"""

from __future__ import annotations

import contextlib
import logging
import random
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.db import DEFAULT_DB_ALIAS
from psycopg import sql

from jobs import conf, direct, notifier
from jobs.errors import ListenPausedError, ListenSilentError
from jobs.failure import headline
from jobs.loglimit import LineLimit
from jobs.models.worker import ListenState
from jobs.postman import Note
from jobs.workers.probe import EchoProbe

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ListenTiming:
    """How patient a listener is, in seconds."""

    probe_every: float = 20.0
    # With the interval above less than 30: a dead connection is noticed within that.
    echo_within: float = 9.0
    first_retry: float = 1.0
    longest_retry: float = 30.0
    # Behind a pooler that will never deliver.
    silent_retry: float = 60.0
    # A process that stood still for longer opens a new connection.
    longest_pause: float = 60.0


class Listener:
    """
    One LISTEN connection on a daemon thread.

    ``on_wake`` gets a channel with news, or None when anything may have been missed: look
    at everything. ``on_state`` gets each new state. Both run on the listener's thread and
    must be short.
    """

    def __init__(
        self,
        channels: Iterable[str],
        *,
        on_wake: Callable[[str | None], object],
        on_state: Callable[[ListenState], object] | None = None,
        using: str = DEFAULT_DB_ALIAS,
        timing: ListenTiming | None = None,
    ) -> None:
        self.state = ListenState.STARTING
        # Why it is polling; None while it listens.
        self.reason: str | None = None
        self._channels = tuple(dict.fromkeys(channels))
        self._on_wake = on_wake
        self._on_state = on_state
        self._using = using
        self._timing = timing or ListenTiming()
        self._stopping = threading.Event()
        self._bell: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._failures = 0
        self._silence_said = False
        self._lines = LineLimit()
        self._good_lines = LineLimit()

    def start(self) -> None:
        """Begin to listen; with ``WORKER_LISTEN`` off, only say POLLING."""
        if not conf.WORKER_LISTEN.get():
            self.reason = f"{conf.WORKER_LISTEN.name} is off"
            self._become(ListenState.POLLING)
            return
        self._bell, rung = socket.socketpair()
        self._thread = threading.Thread(
            target=self._run, args=(rung,), name="engineroom-listen", daemon=True
        )
        self._thread.start()

    def stop(self, *, wait_seconds: float = 1.0) -> None:
        """
        End the thread and its connection; no callback begins after this has been seen.

        A connection attempt that hangs is not waited for: it ends by itself within 10 s.
        """
        self._stopping.set()
        if self._bell is not None:
            self._bell.close()
            self._bell = None
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(wait_seconds)

    def _run(self, rung: socket.socket) -> None:
        with rung:
            while not self._stopping.is_set():
                try:
                    self._listen(rung)
                except Exception as error:  # noqa: BLE001 (survives whatever an outage brings)
                    self._stopping.wait(self._lose(error))

    def _listen(self, rung: socket.socket) -> None:
        probe = self._new_probe()
        connection = direct.connect(application_name="engineroom-listen", using=self._using)
        with contextlib.closing(connection):
            statements = [
                sql.SQL("LISTEN {}").format(sql.Identifier(channel))
                for channel in (probe.channel, *self._channels)
            ]
            direct.run(
                connection, direct.compose(*statements), limit_seconds=self._timing.echo_within
            )
            self._attend(connection, probe, rung)

    def _new_probe(self) -> EchoProbe:
        sender = notifier.notifier_of(self._using)
        return EchoProbe(
            send=lambda channel, nonce: sender.add(Note(channel, nonce), at_once=True),
            trouble=lambda: sender.trouble,
            every_seconds=self._timing.probe_every,
            within_seconds=self._timing.echo_within,
        )

    def _attend(self, connection: direct.Connection, probe: EchoProbe, rung: socket.socket) -> None:
        """Hear until told to stop; raise once the connection is known to be dead."""
        poller = select.poll()
        poller.register(connection.fileno(), select.POLLIN)
        poller.register(rung, select.POLLIN)
        while not self._stopping.is_set():
            # First what has come, then whether something is late: a process that stood
            # still finds the echo waiting.
            self._hear(connection, probe)
            seconds = probe.pulse()
            asked_at = time.monotonic()
            poller.poll(seconds * 1000)
            stood_still = time.monotonic() - asked_at - seconds
            if stood_still > self._timing.longest_pause:
                raise ListenPausedError(stood_still)

    def _hear(self, connection: direct.Connection, probe: EchoProbe) -> None:
        channels: dict[str, None] = {}
        connection.pgconn.consume_input()
        while notification := connection.pgconn.notifies():
            channel = notification.relname.decode("utf-8", "replace")
            if channel != probe.channel:
                channels[channel] = None
            elif probe.hear(notification.extra.decode("ascii", "replace")):
                self._prove()
        for channel in channels:
            self._call(self._on_wake, channel)

    def _prove(self) -> None:
        self._failures, self._silence_said, self.reason = 0, False, None
        if self._good_lines.allows():
            logger.info("listen_established channels=%s", len(self._channels))
        self._become(ListenState.LISTENING)
        self._call(self._on_wake, None)

    def _lose(self, error: Exception) -> float:
        """Poll from now on; return in how many seconds to try again."""
        if self._stopping.is_set():
            return 0.0
        self.reason = headline(error)
        if self._may_say(error):
            logger.warning("listen_polling reason=%s", self.reason)
        self._become(ListenState.POLLING)
        if isinstance(error, ListenSilentError) and not error.was_proved:
            return self._timing.silent_retry
        return self._next_pause()

    def _may_say(self, error: Exception) -> bool:
        if isinstance(error, ListenSilentError) and not error.was_proved:
            is_news, self._silence_said = not self._silence_said, True
            return is_news
        return self._lines.allows()

    def _next_pause(self) -> float:
        pause = self._timing.first_retry * 2.0 ** min(self._failures, 30)
        self._failures += 1
        jitter = random.uniform(0.75, 1.0)  # noqa: S311 (spreads replicas, keeps no secret)
        return min(pause, self._timing.longest_retry) * jitter

    def _become(self, state: ListenState) -> None:
        if state is not self.state:
            self.state = state
            if self._on_state is not None:
                self._call(self._on_state, state)

    def _call(self, callback: Callable[[Any], object], value: object) -> None:
        try:
            callback(value)
        except Exception:
            if self._lines.allows():
                logger.exception("listen_callback_failed")
