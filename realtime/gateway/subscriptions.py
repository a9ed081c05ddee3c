"""Who of this process is subscribed to what; the rooms of python-socketio follow it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import socketio

from realtime.bus import Message
from realtime.gateway.emitting import NAMESPACE
from realtime.gateway.identity import Identity
from realtime.gateway.rooms import topic_room, user_room

MOST_TOLD = 100_000


@dataclass(eq=False, kw_only=True)
class Client:
    """A socket whose user is known."""

    sid: str
    eio_sid: str
    identity: Identity
    topics: set[str] = field(default_factory=set)
    # What came on topics whose replay is going on, by topic.
    held: dict[str, list[tuple[int, Message]]] = field(default_factory=dict)

    @property
    def user_key(self) -> str:
        return self.identity.user_key


class Subscriptions:
    """The clients of this process by their socket ids."""

    def __init__(self, manager: socketio.AsyncManager, *, has_come: Callable[[int], bool]) -> None:
        self._manager = manager
        self.has_come = has_come  # whether a number was already delivered to the rooms
        self._clients: dict[str, Client] = {}
        # Numbers that a replay has told before they came: to whom not again.
        self._told: dict[int, set[str]] = {}

    def __len__(self) -> int:
        return len(self._clients)

    def add(self, client: Client) -> None:
        """Know a client."""
        self._clients[client.sid] = client

    def remove(self, sid: str) -> Client | None:
        """Forget a client; its rooms end with its socket."""
        return self._clients.pop(sid, None)

    def get(self, sid: str) -> Client | None:
        """Return the client on this socket, if it is known."""
        return self._clients.get(sid)

    def all(self) -> list[Client]:
        """Return all clients."""
        return list(self._clients.values())

    def enter(self, client: Client, topic: str) -> None:
        """Let what comes on the topic reach the client, if it is still there."""
        if self._clients.get(client.sid) is client and self._manager.is_connected(
            client.sid, NAMESPACE
        ):
            for room in _rooms(client, topic):
                self._manager.basic_enter_room(client.sid, NAMESPACE, room)

    def leave(self, client: Client, topic: str) -> None:
        """Let nothing more of the topic reach the client."""
        for room in _rooms(client, topic):
            self._manager.basic_leave_room(client.sid, NAMESPACE, room)

    def mark_told(self, sid: str, number: int) -> None:
        """Note that a replay has told the client a message that is yet to come."""
        self._told.setdefault(number, set()).add(sid)
        if len(self._told) > MOST_TOLD:
            self._told.pop(next(iter(self._told)))

    def take_told(self, number: int) -> set[str]:
        """Return who was told this message by a replay; it comes only once."""
        return self._told.pop(number, set())


def _rooms(client: Client, topic: str) -> tuple[str, str]:
    return topic_room(topic), user_room(client.user_key, topic)
