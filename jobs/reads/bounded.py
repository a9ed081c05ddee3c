"""A time limit for reads: a console must never be the load that it reports."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from django.db import OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.errors import QueryCanceled

from jobs.reads.errors import SlowReadError

READ_LIMIT_MS = 2000


@contextlib.contextmanager
def bounded(*, using: str = "default", milliseconds: int = READ_LIMIT_MS) -> Iterator[None]:
    """
    Limit every statement of the block; raise ``SlowReadError`` for one that needs longer.

    Within another transaction, as under ``ATOMIC_REQUESTS``, only a savepoint is rolled back
    and the limit of before is put back.
    """
    connection = connections[using]
    nested = connection.in_atomic_block
    try:
        with transaction.atomic(using=using):
            before = _limit(connection, f"{milliseconds}ms")
            yield
            if nested:
                _limit(connection, before)
    except OperationalError as error:
        if is_timeout(error):
            raise SlowReadError(milliseconds) from error
        raise


@contextlib.contextmanager
def expendable(*, using: str = "default") -> Iterator[None]:
    """Within ``bounded``: let a part fail at the limit alone, and the rest go on."""
    try:
        with transaction.atomic(using=using):
            yield
    except OperationalError as error:
        if is_timeout(error):
            raise SlowReadError(READ_LIMIT_MS) from error
        raise


def is_timeout(error: OperationalError) -> bool:
    """Say whether the server stopped a statement at its time limit."""
    return isinstance(error.__cause__, QueryCanceled)


def _limit(connection: BaseDatabaseWrapper, value: str) -> str:
    with connection.cursor() as cursor:
        # The target list is evaluated from left to right: first what it was.
        cursor.execute(
            "SELECT current_setting('statement_timeout'), "
            "set_config('statement_timeout', %s, true)",
            [value],
        )
        row = cursor.fetchone()
    return str(row[0])
