"""Short transactions for claims and fenced writes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from django.db import connections, transaction
from psycopg import sql

from jobs import conf


@contextlib.contextmanager
def short_transaction(using: str) -> Iterator[None]:
    """
    Open a transaction at READ COMMITTED with time-outs of its own.

    SKIP LOCKED at REPEATABLE READ ends in serialisation errors, so the level does not
    follow the project's default. Inside another transaction only the time-outs are set.
    """
    connection = connections[using]
    outermost = not connection.in_atomic_block
    with transaction.atomic(using=using):
        with connection.cursor() as cursor:
            cursor.execute(_opening(outermost=outermost))
        yield


def _opening(*, outermost: bool) -> str:
    timeout = conf.STATEMENT_TIMEOUT_MS.get()
    # One round trip for all of it.
    text = sql.SQL("SET LOCAL statement_timeout = {ms}; SET LOCAL lock_timeout = {ms}").format(
        ms=sql.Literal(timeout)
    )
    level = (
        sql.SQL("SET TRANSACTION ISOLATION LEVEL READ COMMITTED; ") if outermost else sql.SQL("")
    )
    return (level + text).as_string(None)
