"""
Clients that count what they are told, in a process of their own.

``python -m tests.realtime.audience URL TOKEN COUNT TOTAL`` connects, prints ``ready``, and once
each client was told so many events, prints as JSON when the first client was told each, when
the last was told its last, and how many the most were told. A thousand clients of
python-socketio would keep a process busier than the server that they are to measure.
"""

from __future__ import annotations

import json
import selectors
import sys
import time
from dataclasses import dataclass, field

from tests.realtime.raw import DeafClient

EVENT = b'42["event"'
PING = b"\x81\x012"
WEBSOCKET_PING = b"\x89\x04"  # of uvicorn, before four bytes of its choice
TOPIC = "bench"
LIMIT_SECONDS = 100


@dataclass(eq=False)
class Ear:
    """One client, by the bytes that it gets."""

    client: DeafClient
    tail: bytes = b""
    arrivals: list[float] = field(default_factory=list)

    def hear(self) -> None:
        more = self.client.read()
        if not more:
            raise SystemExit(f"a client was cut after {len(self.arrivals)} events")
        # Pings of Engine.IO and of WebSocket come while nothing else does, as the last frame.
        if more.endswith(PING):
            self.client.send("3")
        if more[-6:-4] == WEBSOCKET_PING:
            self.client.pong(more[-4:])
        data = self.tail + more
        self.arrivals.extend([time.time()] * data.count(EVENT))
        self.tail = data[-len(EVENT) + 1 :]


def main() -> None:
    url, token, count, total = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    ears: list[Ear] = []
    chooser = selectors.DefaultSelector()
    for _ in range(count):
        ears.append(Ear(connect(url, token)))
        chooser.register(ears[-1].client, selectors.EVENT_READ, ears[-1])
        hear(chooser, seconds=0.0)
    print("ready", flush=True)
    end = time.monotonic() + LIMIT_SECONDS
    while any(len(ear.arrivals) < total for ear in ears) and time.monotonic() < end:
        hear(chooser, seconds=1.0)
    if (least := min(len(ear.arrivals) for ear in ears)) < total:
        raise SystemExit(f"a client was told {least} of {total} within {LIMIT_SECONDS} s")
    ended = max(ear.arrivals[-1] for ear in ears)
    most = max(len(ear.arrivals) for ear in ears)
    found = {"arrivals": ears[0].arrivals, "ended": ended, "most": most}
    print(json.dumps(found), flush=True)


def hear(chooser: selectors.BaseSelector, *, seconds: float) -> None:
    """Let each client hear what has come, or what comes within so many seconds."""
    for key, _ in chooser.select(seconds):
        key.data.hear()


def connect(url: str, token: str) -> DeafClient:
    """Connect and, at a gateway, subscribe; return once that is acknowledged."""
    if token:
        client = DeafClient(url, token=token, topics=[TOPIC])
        client.await_text(b'430[{"ok":true}]')
    else:
        client = DeafClient(url)
        client.send("40")
        client.await_text(b'40{"sid"')
    return client


if __name__ == "__main__":
    main()
