"""Statements of the benchmark's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection, transaction

from project import postgres

TABLE = "bench_noop"


def execute(text: str, *parameters: Any) -> None:
    """Run a statement."""
    with connection.cursor() as cursor:
        cursor.execute(text, parameters or None)


def value(text: str, *parameters: Any) -> Any:
    """Return the only value of a query."""
    with connection.cursor() as cursor:
        cursor.execute(text, parameters or None)
        return cursor.fetchone()[0]


def empty() -> None:
    """Begin with an empty queue and ledger, and the past on disk."""
    execute("TRUNCATE bench_noop, job_runs RESTART IDENTITY")
    checkpoint()


def checkpoint() -> None:
    """Write what is dirty, so that no measure pays for the one before."""
    address = postgres.connection_parameters(Path(os.environ["ENGINEROOM_VAR"]))
    with psycopg.connect(
        host=address.host,
        port=address.port,
        user="postgres",
        dbname="postgres",
        passfile=address.passfile,
        autocommit=True,
    ) as connection:
        connection.execute("CHECKPOINT")


def settle() -> None:
    """Do at once what the server would do about new rows while others measure."""
    execute("VACUUM bench_noop")
    checkpoint()


def insert(count: int, *, status: str = "pending") -> None:
    """Commit so many rows at once, with statistics."""
    with transaction.atomic():
        execute(
            "INSERT INTO bench_noop (status, payload)"
            " SELECT %s, 'nothing to do' FROM generate_series(1, %s)",
            status,
            count,
        )
        execute("ANALYZE bench_noop")
