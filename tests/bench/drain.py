"""Jobs per second: of real worker processes by their own ledger, and of pgbench."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

from django.db import connection, connections

from jobs import pausing
from jobs.declarations import registry
from tests.bench import database
from tests.bench.pgbench import drain_by_pgbench
from tests.bench.workers import wait_until, workers

JOB = "bench.noop"
LONGEST_SECONDS = 180.0
BATCH = 100
LEDGER = """
    SELECT coalesce(sum((output->>'done')::int), 0),
           extract(epoch FROM max(finished_at) - min(started_at))
    FROM job_runs WHERE job_id = 'bench.noop' AND finished_at IS NOT NULL
"""


@dataclass(frozen=True, kw_only=True)
class Load:
    """What lies in the queue when it is drained."""

    rows: int
    finished: int = 0  # rows beside them that are done
    pending: int = 0  # rows behind them; the drain is ended after some seconds
    old_snapshot: bool = False  # a transaction that began before the rows were written


def drain(load: Load, *, processes: int = 1, seconds: float = 4.0) -> float:
    """Return the jobs per second of so many worker processes, all rows being on the disk."""
    pausing.pause(JOB, actor="bench", reason="laying out")
    with _laid_out(load), workers(processes, JOB):
        database.execute("TRUNCATE job_runs")
        database.insert(load.rows + load.pending)
        database.settle()
        pausing.resume(registry.get(JOB))
        if load.pending:
            _drain_for(seconds)
        else:
            wait_until(lambda: _done()[0] >= load.rows, seconds=LONGEST_SECONDS)
        done, lasted = _done()
    return done / lasted


def limit(load: Load, *, clients: int = 1) -> float:
    """Return the jobs per second of pgbench with the same statements."""
    with _laid_out(load):
        database.insert(load.rows)
        database.settle()
        return drain_by_pgbench(rows=load.rows, batch=BATCH, clients=clients)


@contextlib.contextmanager
def _laid_out(load: Load) -> Iterator[None]:
    database.empty()
    if load.finished:
        database.insert(load.finished, status="done")
        database.settle()
    with _snapshot() if load.old_snapshot else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def _snapshot() -> Iterator[None]:
    other = connections.create_connection("default")
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("SELECT count(*) FROM job_states")
            yield
    finally:
        other.close()


def _drain_for(seconds: float) -> None:
    wait_until(lambda: database.value("SELECT count(*) FROM job_runs"), seconds=60)
    time.sleep(seconds)
    pausing.pause(JOB, actor="bench", reason="enough")
    wait_until(lambda: _done()[0], seconds=60)
    pausing.resume(registry.get(JOB))


def _done() -> tuple[int, float]:
    with connection.cursor() as cursor:
        cursor.execute(LEDGER)
        done, lasted = cursor.fetchone()
    return int(done), float(lasted or 0)
