"""Short transactions for claims and fenced writes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from jobs import conf

Rows = list[tuple[Any, ...]]


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
            cursor.execute(_opening(conf.STATEMENT_TIMEOUT_MS.get(), outermost=outermost))
        yield


def run_shortly(using: str, *statements: str) -> list[Rows]:
    """
    Run complete statements in one short transaction; return the rows of each.

    Each of them must return rows. Outside of a transaction it is one round trip: the
    server makes one transaction of the statements of a query, and takes it back as a
    whole if one fails. Four round trips, for BEGIN, time-outs, statement and COMMIT, cost
    a completion of 100 rows half as much again as its work.
    """
    connection = connections[using]
    if connection.in_atomic_block or not connection.get_autocommit():
        with short_transaction(using):
            return [_run(connection, statement)[0] for statement in statements]
    opening = _opening(conf.STATEMENT_TIMEOUT_MS.get(), outermost=True)
    return _run(connection, ";\n".join((opening, *statements)))


def _run(connection: BaseDatabaseWrapper, text: str) -> list[Rows]:
    results = []
    with connection.cursor() as cursor:
        cursor.execute(text)
        while True:
            if cursor.description is not None:
                results.append(cursor.fetchall())
            if not cursor.nextset():
                return results


@lru_cache(maxsize=8)
def _opening(timeout: int, *, outermost: bool) -> str:
    # One round trip for all of it.
    text = sql.SQL("SET LOCAL statement_timeout = {ms}; SET LOCAL lock_timeout = {ms}").format(
        ms=sql.Literal(timeout)
    )
    level = (
        sql.SQL("SET TRANSACTION ISOLATION LEVEL READ COMMITTED; ") if outermost else sql.SQL("")
    )
    return (level + text).as_string(None)
