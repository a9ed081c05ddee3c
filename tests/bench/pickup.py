"""From the commit of a row to the start of its handler, beside a bare NOTIFY."""

from __future__ import annotations

import statistics
import time

from django.db import connections, transaction

from jobs import notifier
from tests.bench import database
from tests.bench.drain import JOB
from tests.bench.noop.jobs import PICKED_UP
from tests.bench.noop.models import Noop
from tests.bench.workers import wait_until, workers

# Longer than what the notifier folds, so that each commit finds an idle system.
PAUSE_SECONDS = 0.08
# Before the first look at what came of it: on an idle system the one who waits is idle, too.
LOOK_SECONDS = 0.03


def pickup(*, times: int) -> dict[str, float]:
    """Return milliseconds: half of the pick-ups are faster than p50, one of 100 slower than p99."""
    with workers(1, JOB):
        database.empty()
        waits, bare = [], []
        for _ in range(times):
            bare.append(notify_once() * 1000)
            time.sleep(PAUSE_SECONDS)
            waits.append(_pick_up_once() * 1000)
    return {
        "pickup_ms_p50": statistics.median(waits),
        "pickup_ms_p99": statistics.quantiles(waits, n=100)[-1],
        "notify_ms_p50": statistics.median(bare),
    }


def _pick_up_once() -> float:
    with transaction.atomic():
        row = Noop.objects.create(payload="when?")
        notifier.wake(database.TABLE)
        committed: list[float] = []
        # Runs at once after COMMIT, before the notifier is poked.
        transaction.get_connection().run_on_commit.insert(
            0, (set(), lambda: committed.append(time.time()), False)
        )
    time.sleep(LOOK_SECONDS)
    wait_until(lambda: _payload(row).startswith(PICKED_UP), seconds=30)
    return float(_payload(row).removeprefix(PICKED_UP)) - committed[0]


def _payload(row: Noop) -> str:
    return Noop.objects.values_list("payload", flat=True).get(pk=row.pk)


def notify_once() -> float:
    sender, hearer = _connection("sender"), _connection("hearer")
    began = time.perf_counter()
    sender.execute("NOTIFY bench")
    next(iter(hearer.notifies(timeout=30, stop_after=1)))
    return time.perf_counter() - began


_kept: dict[str, object] = {}


def _connection(name: str):
    """Return a bare connection of psycopg's, on which commits are not flushed."""
    if name not in _kept:
        wrapper = connections.create_connection("default")
        wrapper.ensure_connection()
        _kept[name] = wrapper.connection
        wrapper.connection.execute("SET synchronous_commit = off")
        wrapper.connection.execute("LISTEN bench" if name == "hearer" else "SELECT 1")
    return _kept[name]
