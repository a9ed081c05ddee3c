"""A time limit for reads: a console must never be the load that it reports."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar

from django.db import DatabaseError, InterfaceError, OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql
from psycopg.errors import QueryCanceled

from jobs.reads.errors import SlowReadError

READ_LIMIT_MS = 2000

_NAME = sql.Identifier("bounded_reads")
_LIMIT = sql.SQL("SET LOCAL statement_timeout = {ms}")
_BEGIN = sql.SQL("SAVEPOINT {name}; {limit}")
_END = sql.SQL("ROLLBACK TO SAVEPOINT {name}; RELEASE SAVEPOINT {name}")

# The limits of the blocks that are open around this one, by database.
_limits: ContextVar[Mapping[str, int]] = ContextVar("limits", default={})  # noqa: B039 (never written)


@contextlib.contextmanager
def bounded(*, using: str = "default", milliseconds: int = READ_LIMIT_MS) -> Iterator[None]:
    """
    Limit every statement of the block; raise ``SlowReadError`` for one that needs longer.

    For reads only: within another transaction, as under ``ATOMIC_REQUESTS``, the block is a
    savepoint that is rolled back at its end, which puts the limit of before back.
    """
    around = _limits.get().get(using)
    if around is not None and around <= milliseconds:
        with expendable(using=using):
            yield
        return
    connection = connections[using]
    token = _limits.set({**_limits.get(), using: milliseconds})
    try:
        opened = _savepoint if connection.in_atomic_block else _transaction
        with opened(connection, milliseconds):
            yield
    except OperationalError as error:
        if is_timeout(error):
            raise SlowReadError(milliseconds) from error
        raise
    finally:
        _limits.reset(token)


@contextlib.contextmanager
def expendable(*, using: str = "default") -> Iterator[None]:
    """Within ``bounded``: let a part fail at the limit alone, and the rest go on."""
    connection = connections[using]
    savepoint = connection.savepoint()
    try:
        yield
    except BaseException as error:
        if savepoint is not None:
            connection.savepoint_rollback(savepoint)
        if isinstance(error, OperationalError) and is_timeout(error):
            raise SlowReadError(_limits.get().get(using, READ_LIMIT_MS)) from error
        raise


def is_timeout(error: OperationalError) -> bool:
    """Say whether the server stopped a statement at its time limit."""
    return isinstance(error.__cause__, QueryCanceled)


@contextlib.contextmanager
def _transaction(connection: BaseDatabaseWrapper, milliseconds: int) -> Iterator[None]:
    with transaction.atomic(using=connection.alias):
        _execute(connection, _LIMIT.format(ms=sql.Literal(milliseconds)))
        yield


@contextlib.contextmanager
def _savepoint(connection: BaseDatabaseWrapper, milliseconds: int) -> Iterator[None]:
    # One round trip to begin and one to end.
    _execute(
        connection, _BEGIN.format(name=_NAME, limit=_LIMIT.format(ms=sql.Literal(milliseconds)))
    )
    try:
        yield
    except BaseException:
        with contextlib.suppress(DatabaseError, InterfaceError):  # the connection may be gone
            _execute(connection, _END.format(name=_NAME))
        raise
    _execute(connection, _END.format(name=_NAME))


def _execute(connection: BaseDatabaseWrapper, statements: sql.Composed) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statements.as_string(None))
