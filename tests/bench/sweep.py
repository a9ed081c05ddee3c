"""Sweeping expired sessions beside one raw DELETE of the same rows, with a writer at work."""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
from collections.abc import Callable, Iterator

from django.contrib.sessions.models import Session

from jobs import direct
from jobs.context import RunContext
from jobs.declarations import registry
from jobs.models.run import Trigger
from jobs.pruning import ExpiredRows
from jobs.schedule import database_now
from retention.budget import Budget
from retention.statements import DueRows
from retention.sweeping import TargetSweep
from tests.bench import database

BATCH = 2000
LIVE = 5000
RENEW = "UPDATE django_session SET expire_date = now() + interval '2 days' WHERE session_key = %s"
# A visitor's request now and then: a writer without a pause would measure two writers' race.
WRITER_PAUSE_SECONDS = 0.002


def sweep(*, rows: int) -> dict[str, float]:
    """Return rows per second of both, and the writer's milliseconds while the sweep went on."""
    raw, _ = _timed(rows, _delete_raw)
    swept, waits = _timed(rows, _sweep)
    return {
        "sweep_rows_per_s": rows / swept,
        "raw_delete_rows_per_s": rows / raw,
        "sweep_writer_p99_ms": statistics.quantiles(waits, n=100)[-1] * 1000,
    }


def _timed(rows: int, work: Callable[[], object]) -> tuple[float, list[float]]:
    _fill(rows)
    with _writer() as waits:
        began = time.perf_counter()
        work()
        seconds = time.perf_counter() - began
    left = Session.objects.count()
    if left != LIVE:
        raise RuntimeError(f"{left} sessions are left, and {LIVE} are live")
    return seconds, waits


def _delete_raw() -> None:
    database.execute("DELETE FROM django_session WHERE expire_date < now()")


def _sweep() -> None:
    context = RunContext(declaration=registry.get("retention.sessions"), trigger=Trigger.MANUAL)
    budget = Budget(context=context, batch=BATCH, max_batches=100_000, max_seconds=3600, pause_ms=0)
    sessions = ExpiredRows(
        name="sessions", label="Sessions", model=Session, age_column="expire_date"
    )
    due = DueRows(
        prunable=sessions, condition=sessions.condition(), cutoff=database_now() - sessions.after()
    )
    swept = TargetSweep(due, budget).run()
    if swept.error:
        raise RuntimeError(swept.error)


def _fill(rows: int) -> None:
    """Begin with so many expired sessions and some that live, on the disk as they came."""
    database.execute("TRUNCATE django_session")
    database.execute(
        "INSERT INTO django_session (session_key, session_data, expire_date)"
        " SELECT md5(n::text), repeat('x', 200), now() - (1000000 - n) * interval '1 second'"
        " FROM generate_series(1, %s) AS n",
        rows,
    )
    database.execute(
        "INSERT INTO django_session (session_key, session_data, expire_date)"
        " SELECT 'live' || n, repeat('x', 200), now() + interval '1 day'"
        " FROM generate_series(1, %s) AS n",
        LIVE,
    )
    database.execute("ANALYZE django_session")
    database.checkpoint()


@contextlib.contextmanager
def _writer() -> Iterator[list[float]]:
    """Renew live sessions, each in its own transaction; gives how long each has taken."""
    waits: list[float] = []
    ended = threading.Event()

    def write() -> None:
        with direct.connect(application_name="writer") as writer:
            place = 0
            while not ended.wait(WRITER_PAUSE_SECONDS):
                place = place % LIVE + 1
                began = time.perf_counter()
                writer.execute(RENEW, [f"live{place}"])
                waits.append(time.perf_counter() - began)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield waits
    finally:
        ended.set()
        thread.join(30)
