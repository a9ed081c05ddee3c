"""Rows per second into a queue, a thousand in each transaction, beside a bare COPY."""

from __future__ import annotations

import time

from django.db import connection, transaction

from jobs.bulk import enqueue_many
from tests.bench import database
from tests.bench.noop.models import Noop

AT_ONCE = 1_000
PAYLOAD = "nothing to do"


def bulk_enqueue(*, rows: int) -> float:
    """Return the rows per second of ``enqueue_many``."""
    database.empty()
    began = time.perf_counter()
    for _ in range(rows // AT_ONCE):
        enqueue_many(Noop, ({"payload": PAYLOAD} for _ in range(AT_ONCE)))
    return rows / (time.perf_counter() - began)


def copy(*, rows: int) -> float:
    """Return the rows per second of COPY with finished text."""
    database.empty()
    data = f"{PAYLOAD}\n" * AT_ONCE
    began = time.perf_counter()
    for _ in range(rows // AT_ONCE):
        with (
            transaction.atomic(),
            connection.cursor() as cursor,
            cursor.copy("COPY bench_noop (payload) FROM STDIN") as stream,
        ):
            stream.write(data)
    return rows / (time.perf_counter() - began)
