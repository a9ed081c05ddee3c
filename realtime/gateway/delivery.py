"""From a message of the bus to the sockets of this process."""

from __future__ import annotations

from typing import Any

from realtime.bus import Kind, Message, Mode, decode
from realtime.gateway.emitting import Emitter
from realtime.gateway.replay import Missed
from realtime.gateway.rooms import topic_room, user_room
from realtime.gateway.subscriptions import Client, Subscriptions

# What two seconds of a busy topic bring; a client whose replay takes longer reads it anew.
MOST_HELD = 10_000


class Delivery:
    """Hands messages to those whom they are for."""

    def __init__(self, emitter: Emitter, subscriptions: Subscriptions) -> None:
        self._emitter = emitter
        self._subscriptions = subscriptions
        # Who waits for a replay, by topic: what comes meanwhile is held back for them.
        self._replaying: dict[str, set[Client]] = {}

    async def deliver(self, number: int, text: str) -> None:
        """Send a message to its recipients. Raises BusTextError."""
        message = decode(text)
        for client in self._replaying.get(message.topic, ()):
            self._hold(client, number, message)
        told = self._subscriptions.take_told(number)
        if rooms := self._rooms(message):
            event, data = told_as(number, message)
            await self._emitter.emit(event, data, rooms=rooms, but=told)

    async def resync_all(self) -> None:
        """Tell every client to read each of its topics anew."""
        for client in self._subscriptions.all():
            await self.resync(client, *client.topics)

    async def resync(self, client: Client, *topics: str) -> None:
        """Tell a client to read these topics anew."""
        for topic in topics:
            await self._emitter.emit("resync", {"topic": topic}, rooms=[client.sid])

    def hold(self, client: Client, topic: str) -> None:
        """Keep back what comes on the topic for this client, until ``release``."""
        client.held[topic] = []
        self._replaying.setdefault(topic, set()).add(client)

    async def release(self, client: Client, topic: str, missed: Missed | None) -> None:
        """
        Send what was missed, then what was held back, each once; then let the topic flow.

        Without what was missed, the client is told to read anew first.
        """
        held = self.drop(client, topic)
        if held is None:
            return  # it unsubscribed, or left
        if missed is None or len(held) >= MOST_HELD:
            await self.resync(client, topic)
        sent = set()
        for number, message in missed or ():
            await self._tell(client, number, message)
            sent.add(number)
            if not self._subscriptions.has_come(number):
                self._subscriptions.mark_told(client.sid, number)
        for number, message in held:
            if number not in sent:
                await self._tell(client, number, message)
        # Nothing above waits for anything, so nothing has come meanwhile.
        self._subscriptions.enter(client, topic)

    def drop(self, client: Client, topic: str) -> Missed | None:
        """Hold nothing more back; return what was, None when nothing was to be."""
        waiting = self._replaying.get(topic, set())
        waiting.discard(client)
        if not waiting:
            self._replaying.pop(topic, None)
        return client.held.pop(topic, None)

    async def _tell(self, client: Client, number: int, message: Message) -> None:
        event, data = told_as(number, message)
        await self._emitter.emit(event, data, rooms=[client.sid])

    def _hold(self, client: Client, number: int, message: Message) -> None:
        held = client.held[message.topic]
        if is_for(message, client) and len(held) < MOST_HELD:
            held.append((number, message))

    def _rooms(self, message: Message) -> list[str]:
        match message.recipients.mode:
            case Mode.TOPIC:
                return [topic_room(message.topic)]
            case Mode.USERS:
                return [user_room(key, message.topic) for key in message.recipients.keys]
            case Mode.SIDS:
                return [sid for sid in message.recipients.keys if self._flows(sid, message.topic)]

    def _flows(self, sid: str, topic: str) -> bool:
        client = self._subscriptions.get(sid)
        return client is not None and topic in client.topics and topic not in client.held


def is_for(message: Message, client: Client) -> bool:
    """Say whether a client that is subscribed to the topic is among the recipients."""
    match message.recipients.mode:
        case Mode.TOPIC:
            return True
        case Mode.USERS:
            return client.user_key in message.recipients.keys
        case Mode.SIDS:
            return client.sid in message.recipients.keys


def told_as(number: int, message: Message) -> tuple[str, dict[str, Any]]:
    """Return the event's name and its data as the client gets them."""
    match message.kind:
        case Kind.EVENT:
            return "event", {
                "topic": message.topic,
                "event": message.event,
                "number": number,
                "payload": message.payload,
            }
        case Kind.LEAVE:
            return "leave", {"topic": message.topic, "id": message.payload}
        case Kind.RESYNC:
            return "resync", {"topic": message.topic}
