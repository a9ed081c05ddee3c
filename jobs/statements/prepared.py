"""
Statements that a session of the server keeps planned, for what must not wait for a planner.

To parse and plan the claim of one new row takes the server longer than to run it. Behind a
pooler that gives each transaction another session nothing is prepared: such a pooler makes up
the number of the session that libpq was told.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import psycopg
from django.db import DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import errors as postgres

from jobs.statements.template import Template, Variable, literal

T = TypeVar("T")
# More forms than a queue has; beyond it they are planned each time.
MOST_KEPT = 16
# Planned while the table is small, it would read the table from end to end when it is big.
_BY_INDEX = "SET LOCAL enable_seqscan = off; SET LOCAL plan_cache_mode = force_generic_plan"
# What a session says that knows a statement no more, or not for a table as it is now.
FORGOTTEN = (postgres.InvalidSqlStatementName, postgres.FeatureNotSupported)
_numbers = itertools.count(1)


@dataclass(kw_only=True, eq=False)
class Session:
    """What one session of the server keeps for this process."""

    is_own: bool  # no pooler gives it to others in between
    names: dict[int, tuple[Template, str]] = field(default_factory=dict)

    def execution(
        self, template: Template, values: Mapping[Variable, Any], connection: BaseDatabaseWrapper
    ) -> str | None:
        """Return statements that execute the template, prepared with them if it is not yet."""
        if not self.is_own:
            return None
        known = self.names.get(id(template))
        if known is None and len(self.names) >= MOST_KEPT:
            return None
        name = f"engineroom_{next(_numbers)}" if known is None else known[1]
        given = ", ".join(literal(values[each], connection) for each in template.variables)
        call = f"{_BY_INDEX};\nEXECUTE {name}" + (f"({given})" if given else "")
        if known is not None:
            return call
        self.names[id(template)] = (template, name)
        return f"PREPARE {name} AS\n{template.numbered()};\n{call}"


_sessions: weakref.WeakKeyDictionary[psycopg.Connection[Any], Session] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def send_planned(
    send: Callable[[str], T],
    template: Template,
    values: Mapping[Variable, Any],
    connection: BaseDatabaseWrapper,
) -> T:
    """
    Send a statement in the form that the session keeps planned, else as its complete text.

    The text in a transaction of the caller's and behind a pooler, and where somebody listens
    in, who is to hear the statement itself. ``send`` is called again with the text if the
    session has forgotten the statement, by which nothing was done.
    """
    planned = _execution(template, values, connection)
    if planned is not None:
        try:
            return send(planned)
        except DatabaseError as error:
            if not isinstance(error.__cause__, FORGOTTEN):
                raise
            # Forgotten, or its table has changed: nothing is prepared there any more.
            _session_of(connection).is_own = False
    return send(template.fill(values, connection))


def is_own_session(connection: BaseDatabaseWrapper) -> bool:
    """Say whether a connection is one session of the server, which no pooler gives to others."""
    return _session_of(connection).is_own


def release(template: Template, connection: BaseDatabaseWrapper) -> None:
    """Let the session forget a template that is not executed any more."""
    with _lock:
        session = _sessions.get(connection.connection)
    known = None if session is None else session.names.pop(id(template), None)
    if known is not None:
        with connection.cursor() as cursor:
            cursor.execute(f"DEALLOCATE {known[1]}")


def _execution(
    template: Template, values: Mapping[Variable, Any], connection: BaseDatabaseWrapper
) -> str | None:
    is_heard = bool(connection.execute_wrappers) or connection.queries_logged
    if is_heard or connection.in_atomic_block or not connection.get_autocommit():
        return None
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    return _session_of(connection).execution(template, values, connection)


def _session_of(connection: BaseDatabaseWrapper) -> Session:
    with _lock:
        session = _sessions.get(connection.connection)
    if session is None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            [number] = cursor.fetchone()
        session = Session(is_own=number == _number_told(connection.connection))
        with _lock:
            _sessions[connection.connection] = session
    return session


def _number_told(connection: psycopg.Connection[Any]) -> int:
    return connection.info.backend_pid
