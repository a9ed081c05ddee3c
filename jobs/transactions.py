"""Short transactions for claims and fenced writes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import psycopg
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import pq, sql
from psycopg.pq.abc import PGresult

from jobs import conf
from jobs.statements.answers import Rows, read_rows


@dataclass(frozen=True, kw_only=True)
class TimeLimits:
    """How long a statement may take, and how long it may wait for a lock; milliseconds."""

    statement_ms: int
    lock_ms: int


@contextlib.contextmanager
def short_transaction(using: str, *, limits: TimeLimits | None = None) -> Iterator[None]:
    """
    Open a transaction at READ COMMITTED with time-outs of its own, by default the workers'.

    SKIP LOCKED at REPEATABLE READ ends in serialisation errors, so the level does not
    follow the project's default. Inside another transaction only the time-outs are set.
    """
    connection = connections[using]
    outermost = not connection.in_atomic_block
    with transaction.atomic(using=using):
        with connection.cursor() as cursor:
            cursor.execute(_opening(limits or _workers_limits(), outermost=outermost))
        yield


def run_shortly(
    using: str, *statements: str, is_durable: bool = True, limits: TimeLimits | None = None
) -> list[Rows]:
    """
    Run complete statements in one short transaction; return the rows of each.

    Each of them must return rows. Outside of a transaction it is one round trip: the
    server makes one transaction of the statements of a query, and takes it back as a
    whole if one fails. Four round trips, for BEGIN, time-outs, statement and COMMIT, cost
    a completion of 100 rows half as much again as its work.

    What is not durable is seen by all at once, but a crash of the server within about half
    a second may forget it.
    """
    connection = connections[using]
    if connection.in_atomic_block or not connection.get_autocommit():
        with short_transaction(using, limits=limits):
            return [_run(connection, statement)[0] for statement in statements]
    opening = _opening(limits or _workers_limits(), outermost=True, is_durable=is_durable)
    return _run(connection, ";\n".join((opening, *statements)))


def change_shortly(
    using: str, change: str, *, then: str, is_durable: bool = True, limits: TimeLimits | None = None
) -> tuple[int, Any]:
    """
    Run a statement that returns no rows, and a query of one value, as ``run_shortly`` does.

    Returns how many rows the statement has changed, and the value. The server counts them
    anyway; to return and count them took it half as long again as to delete them.
    """
    connection = connections[using]
    if connection.in_atomic_block or not connection.get_autocommit():
        with short_transaction(using, limits=limits), connection.cursor() as cursor:
            cursor.execute(change)
            count = cursor.rowcount
            cursor.execute(then)
            return count, cursor.fetchone()[0]
    opening = _opening(limits or _workers_limits(), outermost=True, is_durable=is_durable)
    with connection.cursor() as cursor:
        cursor.execute(f"{opening};\n{change};\n{then}")
        results = cursor.cursor  # past the wrapper, which costs more than each of its steps
        while results.description is None:
            count = results.rowcount
            results.nextset()
        return count, results.fetchone()[0]


def write_shortly(using: str, *statements: str, is_durable: bool = True) -> set[int]:
    """
    Run statements as ``run_shortly`` does; return the ids that the last one returns.

    Straight to libpq where nobody listens in: a mail makes two of these, and cursors took
    longer than their work.
    """
    connection = connections[using]
    if not goes_straight(connection):
        *_, rows = run_shortly(using, *statements, is_durable=is_durable)
        return {row_id for (row_id,) in rows}
    result = _execute(connection, *statements, is_durable=is_durable)
    with connection.wrap_database_errors:
        return ids_of(result, connection.connection)


def fetch_shortly(using: str, *statements: str, is_durable: bool = True) -> Rows:
    """
    Run statements as ``run_shortly`` does; return the rows of the last one.

    Straight to libpq where nobody listens in: of a claim of a hundred rows the cursor and the
    loaders of Django took twice as long as all else.
    """
    connection = connections[using]
    if not goes_straight(connection):
        *_, rows = run_shortly(using, *statements, is_durable=is_durable)
        return rows
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    result = _execute(connection, *statements, is_durable=is_durable)
    with connection.wrap_database_errors:
        _raise_if_failed(result, connection.connection)
        return read_rows(result, connection)


def goes_straight(connection: BaseDatabaseWrapper) -> bool:
    """Say whether nobody listens in or has a transaction open: no cursor is needed."""
    return not (
        connection.in_atomic_block
        or not connection.get_autocommit()
        or connection.execute_wrappers
        or connection.queries_logged
    )


def whole_transaction(*statements: str, is_durable: bool = True) -> str:
    """Return complete statements as the text of one short transaction."""
    opening = _opening(_workers_limits(), outermost=True, is_durable=is_durable)
    return ";\n".join((opening, *statements))


def session_settings() -> str:
    """Return what tells a whole session what each short transaction is told, and its planner."""
    limits = _workers_limits()
    isolation = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED"
    return (
        f"{isolation}; SET statement_timeout = {limits.statement_ms};"
        f" SET lock_timeout = {limits.lock_ms};"
        # Planned while the table is small, it would read the table from end to end when it is big.
        " SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan"
    )


def _run(connection: BaseDatabaseWrapper, text: str) -> list[Rows]:
    results = []
    with connection.cursor() as cursor:
        cursor.execute(text)
        while True:
            if cursor.description is not None:
                results.append(cursor.fetchall())
            if not cursor.nextset():
                return results


def _execute(connection: BaseDatabaseWrapper, *statements: str, is_durable: bool) -> PGresult:
    text = whole_transaction(*statements, is_durable=is_durable)
    server, encoding = connection.connection.pgconn, connection.connection.info.encoding
    with connection.wrap_database_errors:
        try:
            result: PGresult = server.exec_(text.encode(encoding))
        except MemoryError:  # what libpq says of a statement that could not be sent
            raise psycopg.OperationalError(server.get_error_message(encoding)) from None
    return result


def ids_of(result: PGresult, connection: psycopg.Connection[Any]) -> set[int]:
    """Return the ids that libpq's answer has. Raises psycopg's errors."""
    _raise_if_failed(result, connection)
    return {int(result.get_value(place, 0) or 0) for place in range(result.ntuples)}


def _raise_if_failed(result: PGresult, connection: psycopg.Connection[Any]) -> None:
    if result.status == pq.ExecStatus.TUPLES_OK:
        return
    encoding = connection.info.encoding
    # Without a state it is libpq that complains: the server has gone, though the
    # connection's own status may not say so yet.
    state = result.error_field(pq.DiagnosticField.SQLSTATE)
    if connection.pgconn.status == pq.ConnStatus.BAD or not state:
        raise psycopg.OperationalError(result.get_error_message(encoding))
    raise psycopg.errors.error_from_result(result, encoding)


def _workers_limits() -> TimeLimits:
    timeout = conf.STATEMENT_TIMEOUT_MS.get()
    return TimeLimits(statement_ms=timeout, lock_ms=timeout)


@lru_cache(maxsize=8)
def _opening(limits: TimeLimits, *, outermost: bool, is_durable: bool = True) -> str:
    # One round trip for all of it.
    parts: list[sql.Composable] = [
        sql.SQL("SET LOCAL statement_timeout = {}").format(sql.Literal(limits.statement_ms)),
        sql.SQL("SET LOCAL lock_timeout = {}").format(sql.Literal(limits.lock_ms)),
    ]
    if outermost:
        parts.insert(0, sql.SQL("SET TRANSACTION ISOLATION LEVEL READ COMMITTED"))
    if not is_durable:
        parts.append(sql.SQL("SET LOCAL synchronous_commit = off"))
    return sql.SQL("; ").join(parts).as_string(None)
