"""What a client may say: who it is, ``subscribe`` and ``unsubscribe``."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from socketio.exceptions import ConnectionRefusedError as SocketRefusedError

from jobs.loglimit import LineLimit
from realtime.errors import BusyError, SubscriptionRefusedError
from realtime.gateway import sessions
from realtime.gateway.delivery import Delivery
from realtime.gateway.emitting import NAMESPACE
from realtime.gateway.engine import SocketServer
from realtime.gateway.identity import Identity, identify, user_of
from realtime.gateway.leaving import Leaving
from realtime.gateway.limits import MOST_TOPICS
from realtime.gateway.listening import BusStream
from realtime.gateway.replay import Missed, missed
from realtime.gateway.subscriptions import Client, Subscriptions
from realtime.gateway.threads import DatabaseThreads
from realtime.topics import is_topic, may_subscribe

logger = logging.getLogger(__name__)
BEGIN_SECONDS = 10.0
MOST_NUMBER = 2**63 - 1


class Handlers:
    """The events of the default namespace. A client's events come one after the other."""

    def __init__(
        self,
        server: SocketServer,
        *,
        stream: BusStream,
        subscriptions: Subscriptions,
        delivery: Delivery,
        threads: DatabaseThreads,
        leaving: Leaving,
        process_id: str,
    ) -> None:
        self._server = server
        self._stream = stream
        self._subscriptions = subscriptions
        self._delivery = delivery
        self._threads = threads
        self._leaving = leaving
        self._process_id = process_id
        self._lines = LineLimit()
        for handler in (self.connect, self.disconnect, self.subscribe, self.unsubscribe):
            server.on(handler.__name__, handler)

    async def connect(self, sid: str, environ: Mapping[str, Any], auth: Any = None) -> None:
        """Let a client in when it is signed in, and record it."""
        if self._subscriptions.get(sid) is not None:
            return  # an event that calls itself "connect"
        cookie = environ.get("HTTP_COOKIE", "")
        eio_sid = self._server.manager.eio_sid_from_sid(sid, NAMESPACE)
        try:
            identity = await self._threads.run(
                _admit, sid, cookie=cookie, auth=auth, process_id=self._process_id
            )
        except Exception as error:  # noqa: BLE001 (the client is told)
            raise SocketRefusedError(self._code(error)) from None
        if identity is None:
            raise SocketRefusedError("unauthorized")
        if eio_sid not in self._server.eio.sockets:
            # It was cut meanwhile, and nobody would tell its end.
            await self._leaving.forget(sid)
            raise SocketRefusedError("gone")
        self._subscriptions.add(Client(sid=sid, eio_sid=eio_sid, identity=identity))

    async def disconnect(self, sid: str, _reason: str = "") -> None:
        """Forget a client, and its row."""
        if self._server.manager.is_connected(sid, NAMESPACE):
            return  # an event that calls itself "disconnect"
        client = self._subscriptions.remove(sid)
        if client is not None:
            for topic in list(client.held):
                self._delivery.drop(client, topic)
            await self._leaving.forget(sid)

    async def subscribe(self, sid: str, *arguments: Any) -> dict[str, Any]:
        """Answer ``{ok}`` once everything from now on reaches the client, else ``{error}``."""
        client = self._subscriptions.get(sid)
        if client is None:
            return {"error": "unauthorized"}
        try:
            topic, last = _asked(arguments)
            if topic not in client.topics:
                await self._subscribe(client, topic, last)
        except Exception as error:  # noqa: BLE001 (the client is told)
            return {"error": self._code(error)}
        return {"ok": True}

    async def unsubscribe(self, sid: str, *arguments: Any) -> dict[str, Any]:
        """Answer ``{ok}`` once nothing more of the topic reaches the client."""
        client = self._subscriptions.get(sid)
        if client is None:
            return {"error": "unauthorized"}
        try:
            topic, _ = _asked(arguments)
            if topic in client.topics:
                client.topics.discard(topic)
                self._subscriptions.leave(client, topic)
                await self._threads.run(self._write, client, sorted(client.topics))
        except Exception as error:  # noqa: BLE001 (the client is told)
            return {"error": self._code(error)}
        return {"ok": True}

    async def _subscribe(self, client: Client, topic: str, last: int | None) -> None:
        if len(client.topics) >= MOST_TOPICS:
            raise SubscriptionRefusedError("limit")
        async with asyncio.timeout(BEGIN_SECONDS):
            await self._stream.begun.wait()
        if last is not None:
            self._delivery.hold(client, topic)
        try:
            found = await self._threads.run(self._record, client, topic, last)
        except BaseException:
            self._delivery.drop(client, topic)
            raise
        client.topics.add(topic)
        if last is None:
            self._subscriptions.enter(client, topic)
        else:
            await self._delivery.release(client, topic, found)

    def _record(self, client: Client, topic: str, last: int | None) -> Missed | None:
        """Check and write a subscription; return what was missed. Runs on a thread."""
        user = user_of(client.identity)
        if user is None:
            raise SubscriptionRefusedError("unauthorized")
        if not may_subscribe(topic, user):
            raise SubscriptionRefusedError("forbidden")
        self._write(client, sorted({*client.topics, topic}))
        return None if last is None else missed(topic, last=last, user_key=client.user_key)

    def _write(self, client: Client, topics: list[str]) -> None:
        sessions.write(
            client.sid, user_key=client.user_key, topics=topics, process_id=self._process_id
        )

    def _code(self, error: Exception) -> str:
        """Return what the client is told; what is not its own doing is logged."""
        match error:
            case SubscriptionRefusedError():
                return error.code
            case BusyError():
                return "busy"
        if self._lines.allows():
            logger.error("realtime_client_not_served", exc_info=error)
        return "unavailable"


def _admit(sid: str, *, cookie: str, auth: Any, process_id: str) -> Identity | None:
    identity = identify(cookie=cookie, auth=auth)
    if identity is not None:
        sessions.write(sid, user_key=identity.user_key, topics=(), process_id=process_id)
    return identity


def _asked(arguments: tuple[Any, ...]) -> tuple[str, int | None]:
    """Return topic and last number of what a client has sent."""
    data = arguments[0] if arguments and isinstance(arguments[0], dict) else {}
    topic, last = data.get("topic"), data.get("last")
    if not isinstance(topic, str) or not is_topic(topic):
        raise SubscriptionRefusedError("topic")
    if last is None:
        return topic, None
    if not isinstance(last, int) or isinstance(last, bool) or not 0 <= last <= MOST_NUMBER:
        raise SubscriptionRefusedError("last")
    return topic, last
