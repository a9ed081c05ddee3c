"""
Connections outside Django's one per thread: for LISTEN, NOTIFY and health.

They are psycopg's own, without Django's adapters, and each step on them has a time limit:
a proxy that stops passing bytes goes on acknowledging them, so TCP alone notices nothing.
"""

from __future__ import annotations

import select
import time
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import pq, sql
from psycopg.conninfo import conninfo_to_dict

from jobs import conf
from jobs.errors import DatabaseSilentError, SettingError
from jobs.redaction import mask_secrets

Connection = psycopg.Connection[tuple[Any, ...]]
CONNECT_SECONDS = 10
# Ignored by libpq on Unix sockets.
KEEPALIVE: dict[str, Any] = {
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
# What says that the connection is gone, not that the statement was wrong.
LOST = (psycopg.OperationalError, psycopg.InterfaceError, DatabaseSilentError, OSError)

_OURS = ("cursor_factory", "context", "prepare_threshold", "autocommit", "row_factory")


def connect(
    *, application_name: str, using: str = DEFAULT_DB_ALIAS, autocommit: bool = True
) -> Connection:
    """
    Open a connection past any pooler: ``DIRECT_DATABASE_URL`` where it is set, for the
    default database, else where Django connects. Waits at most 10 s for each address.

    Raises psycopg.OperationalError; SettingError when the URL cannot be read.
    """
    return _connection(
        parameters(application_name=application_name, using=using), autocommit=autocommit
    )


def parameters(*, application_name: str, using: str = DEFAULT_DB_ALIAS) -> dict[str, Any]:
    """
    Return what psycopg is given for a connection past any pooler, as ``connect`` opens it.

    Raises SettingError when the URL cannot be read.
    """
    url = conf.DIRECT_DATABASE_URL.get() if using == DEFAULT_DB_ALIAS else ""
    found = _parse(url) if url else _django_parameters(using)
    return _bounded(found, application_name, CONNECT_SECONDS)


def connect_like_django(
    *, application_name: str, using: str = DEFAULT_DB_ALIAS, connect_seconds: int = CONNECT_SECONDS
) -> Connection:
    """Open a connection the way the site itself connects, through its pooler if it has one."""
    found = _bounded(_django_parameters(using), application_name, connect_seconds)
    return _connection(found, autocommit=True)


def run(
    connection: Connection, statements: bytes, *, limit_seconds: float
) -> list[tuple[str | None, ...]]:
    """
    Run statements of one simple query on an autocommit connection; return the last rows as text.

    Several statements are one transaction, so SET LOCAL works among them. Raises what psycopg
    raises; DatabaseSilentError after the limit, with the connection closed.
    """
    begin(connection, statements)
    return finish(connection, limit_seconds=limit_seconds)


def begin(connection: Connection, statements: bytes) -> None:
    """
    Put statements on their way without waiting for anything; ``finish`` gives their answer.

    Raises what psycopg raises.
    """
    connection.pgconn.send_query(statements)
    connection.pgconn.flush()  # what does not fit in the socket now goes out in finish()


def finish(connection: Connection, *, limit_seconds: float) -> list[tuple[str | None, ...]]:
    """Wait for the answer of what was begun, as ``run`` does."""
    deadline = time.monotonic() + limit_seconds
    try:
        results = _results(connection.pgconn, deadline)
    except TimeoutError:
        connection.close()
        raise DatabaseSilentError(limit_seconds) from None
    for result in results:
        if result.status not in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
            raise _error_of(result)
    return _rows(results[-1]) if results else []


def compose(*statements: sql.Composable) -> bytes:
    """Return statements as the text of one simple query."""
    return sql.SQL("; ").join(statements).as_bytes(None)


def _parse(url: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(url))
    except psycopg.ProgrammingError as error:
        problem = mask_secrets(" ".join(str(error).split()))
        allowed = f"a URL that libpq can read ({problem})"
        raise SettingError(conf.DIRECT_DATABASE_URL.name, mask_secrets(url), allowed) from None


def _django_parameters(using: str) -> dict[str, Any]:
    # A wrapper of its own: nothing is opened, nothing stays in this thread's storage.
    parameters: dict[str, Any] = connections.create_connection(using).get_connection_params()
    return {name: value for name, value in parameters.items() if name not in _OURS}


def _bounded(found: dict[str, Any], application_name: str, seconds: int) -> dict[str, Any]:
    named = {"application_name": application_name, "connect_timeout": seconds}
    return {**KEEPALIVE, **found, **named}


def _connection(found: dict[str, Any], *, autocommit: bool) -> Connection:
    return psycopg.connect(**found, autocommit=autocommit, prepare_threshold=None)


def _results(pgconn: pq.abc.PGconn, deadline: float) -> list[pq.abc.PGresult]:
    """Return all results, also those after an error, so that the connection stays usable."""
    while pgconn.flush():
        _await(pgconn, select.POLLIN | select.POLLOUT, deadline)
        pgconn.consume_input()
    results = []
    while (result := _next_result(pgconn, deadline)) is not None:
        results.append(result)
    return results


def _next_result(pgconn: pq.abc.PGconn, deadline: float) -> pq.abc.PGresult | None:
    while pgconn.is_busy():
        _await(pgconn, select.POLLIN, deadline)
        pgconn.consume_input()
    return pgconn.get_result()


def _await(pgconn: pq.abc.PGconn, events: int, deadline: float) -> None:
    left = deadline - time.monotonic()
    poller = select.poll()
    poller.register(pgconn.socket, events)
    if left <= 0 or not poller.poll(left * 1000):
        raise TimeoutError


def _rows(result: pq.abc.PGresult) -> list[tuple[str | None, ...]]:
    return [
        tuple(_text(result.get_value(row, column)) for column in range(result.nfields))
        for row in range(result.ntuples)
    ]


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")


def _error_of(result: pq.abc.PGresult) -> psycopg.Error:
    message = result.get_error_message().strip()
    state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode("ascii", "replace")
    try:
        return psycopg.errors.lookup(state)(message)
    except KeyError:
        return psycopg.DatabaseError(message)
