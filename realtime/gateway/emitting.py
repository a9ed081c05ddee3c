"""
The one place that emits. Nothing else calls ``emit``.

python-socketio and Socket.IO take an empty list of rooms for everybody. Here an audience is
a list of rooms that is never empty, and everybody on a topic is a room of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import socketio
from engineio.packet import MESSAGE
from engineio.packet import Packet as WirePacket
from socketio.packet import EVENT

from realtime.errors import EmptyRecipientsError

NAMESPACE = "/"


class Emitter:
    """Sends to sockets of this process; a packet is made once for all of them."""

    def __init__(self, server: socketio.AsyncServer) -> None:
        self._server = server

    async def emit(
        self,
        event: str,
        data: dict[str, Any],
        *,
        rooms: Sequence[str],
        but: Collection[str] = (),
    ) -> int:
        """
        Send to the sockets in the rooms, except those named; return to how many.

        Raises EmptyRecipientsError when no room is given.
        """
        if not rooms or not all(rooms):
            raise EmptyRecipientsError("rooms", ())
        sockets = [one for sid, one in self._participants(rooms) if sid not in but]
        if not sockets:
            return 0
        text = self._server.packet_class(EVENT, data=[event, data]).encode()
        packet = WirePacket(MESSAGE, text)
        for one in sockets:
            # Waits for nothing: it only puts the packet into the socket's own queue.
            await self._server.eio.send_packet(one, packet)
        return len(sockets)

    def _participants(self, rooms: Sequence[str]) -> Iterator[tuple[str, str]]:
        found: Iterator[tuple[str, str]] = self._server.manager.get_participants(
            NAMESPACE, list(rooms)
        )
        return found
