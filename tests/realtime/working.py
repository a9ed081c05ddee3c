"""Workers of the outbox within one process, each as if it were a process of its own."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from django.db import connections

from jobs import direct
from jobs.claims import Claim, ClaimPolicy
from jobs.claims.pace import Pace
from jobs.context import RunContext
from jobs.declarations import registry
from jobs.models.run import Trigger
from jobs.workers.queue_pass import work_whole_claims
from realtime.bus import Message, decode
from realtime.delivery import deliver
from realtime.models import BusMessage, OutboxEvent, OutboxStatus
from realtime.outbox import NewEvent, encoded, write
from realtime.policy import LOOK_BACK_SECONDS, outbox_policy


def own_policy(**changes: Any) -> ClaimPolicy:
    """Return the outbox's policy with claims and a watermark that no other worker shares."""
    pace = Pace(longest_seconds=LOOK_BACK_SECONDS, looks_back_when_woken=True)
    fresh: dict[str, Any] = {"compiled": {}, "write_forms": {}, "pace": pace}
    return replace(outbox_policy(), **fresh, **changes)


def new_context() -> RunContext:
    return RunContext(declaration=registry.get("realtime.outbox"), trigger=Trigger.SCHEDULE)


@contextlib.contextmanager
def locked_by_another(event_id: int) -> Iterator[None]:
    """Hold an event's row as a worker does that is in the midst of its transaction."""
    with direct.connect(application_name="other", autocommit=False) as other:
        other.execute("SELECT FROM realtime_outbox WHERE id = %s FOR UPDATE", [event_id])
        yield


def put(*payloads: Any, key: str | None = None, topic: str = "news") -> list[int]:
    """Write events for everyone, one for each payload."""
    return write(
        [
            NewEvent(
                topic=topic,
                event="told",
                payload=encoded(payload),
                audience={"mode": "all"},
                ordering_key=key,
            )
            for payload in payloads
        ]
    )


def messages(**conditions: Any) -> list[Message]:
    """Return what is on the bus, in the order in which it was put there."""
    rows = BusMessage.objects.filter(**conditions).order_by("txid", "id")
    return [decode(row.message) for row in rows]


def expire_leases() -> None:
    """Let all claims be stale, as if their workers had died a minute ago."""
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "UPDATE realtime_outbox SET lease_expires_at = clock_timestamp() - interval '1 s'"
            " WHERE status = 'processing'"
        )


def work_until_done(policies: Sequence[ClaimPolicy], *, seconds: float, delay: float) -> None:
    """Let a thread per policy deliver, each claim after a random delay, until all is done."""
    threads = [
        threading.Thread(target=_work, args=(policy, time.monotonic() + seconds, delay))
        for policy in policies
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 20)
        assert not thread.is_alive()


def _work(policy: ClaimPolicy, end: float, delay: float) -> None:
    chance = random.Random(id(policy))
    unfinished = OutboxEvent.objects.exclude(status=OutboxStatus.COMPLETED)
    try:
        while time.monotonic() < end and unfinished.exists():
            context = new_context()

            def deliver_late(claim: Claim, context: RunContext = context) -> None:
                time.sleep(chance.uniform(0, delay))
                deliver(context, claim)

            work_whole_claims(context, policy, deliver_late)
            time.sleep(chance.uniform(0, delay))
    finally:
        connections.close_all()


def inversions(found: Sequence[Message]) -> int:
    """Count messages that came before one of the same key that was written earlier."""
    last: dict[Any, int] = defaultdict(int)
    wrong = 0
    for message in found:
        key, number = message.payload["key"], message.payload["n"]
        wrong += number < last[key]
        last[key] = max(last[key], number)
    return wrong
