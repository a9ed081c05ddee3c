"""A time limit for reads: a console must never be the load that it reports."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar

from django.db import OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.errors import QueryCanceled

from jobs.reads.errors import SlowReadError

READ_LIMIT_MS = 2000

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
    token = _limits.set({**_limits.get(), using: milliseconds})
    try:
        with _passing(using):
            _limit(connections[using], milliseconds)
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
    savepoint = transaction.savepoint(using=using)
    try:
        yield
    except BaseException as error:
        transaction.savepoint_rollback(savepoint, using=using)
        if isinstance(error, OperationalError) and is_timeout(error):
            raise SlowReadError(_limits.get().get(using, READ_LIMIT_MS)) from error
        raise


def is_timeout(error: OperationalError) -> bool:
    """Say whether the server stopped a statement at its time limit."""
    return isinstance(error.__cause__, QueryCanceled)


@contextlib.contextmanager
def _passing(using: str) -> Iterator[None]:
    """Open a transaction, or within one a savepoint that leaves nothing behind."""
    if not connections[using].in_atomic_block:
        with transaction.atomic(using=using):
            yield
        return
    savepoint = transaction.savepoint(using=using)
    try:
        yield
    finally:
        transaction.savepoint_rollback(savepoint, using=using)


def _limit(connection: BaseDatabaseWrapper, milliseconds: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{milliseconds}ms"])
