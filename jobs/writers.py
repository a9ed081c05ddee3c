"""Short transactions that are sent, and whose answers are taken later."""

from __future__ import annotations

import contextlib
import select
from collections.abc import Callable, Mapping
from typing import Any

import psycopg
from django.db import DatabaseError, InterfaceError, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.pq.abc import PGresult

from jobs.statements import FORGOTTEN, Template, Variable, is_own_session, send_planned
from jobs.transactions import (
    goes_straight,
    ids_of,
    session_settings,
    whole_transaction,
    write_shortly,
)

Values = Mapping[Variable, Any]
Session = psycopg.Connection[Any]
STATEMENT = b"engineroom_writer"
# So many writes go over the caller's connection: to open another takes as long as they do.
FEW = 8


class Writer:
    """
    A session of the database for one statement, during which its owner goes on.

    It is its own: what the owner does meanwhile on its thread's connection meets no write
    that is on its way. One write at a time.
    """

    def __init__(self, using: str, template: Template) -> None:
        """Prepare for a statement that returns ids; it connects when there is much to write."""
        self._using = using
        self._template = template
        self._connection: BaseDatabaseWrapper = connections[using].copy()
        self._is_prepared = False
        self._written = 0
        self._take: Callable[[], set[int]] | None = None
        self._last: PGresult | None = None

    @property
    def session(self) -> Session:
        """What a selector asks for the answer; another one after the session was lost."""
        session: Session = self._connection.connection
        return session

    def begin(self, values: Values) -> bool:
        """
        Send a write; what goes wrong is raised where its answer is taken.

        Returns whether its answer is waited for: it is there at once of the first few, and
        where the caller has a transaction open, of which the write is to be a part, or
        somebody listens in.
        """
        caller = connections[self._using]
        self._written += 1
        if self._written <= FEW or not goes_straight(caller):
            self._take = self._write_at_once(values, caller)
            return False
        try:
            self._send(values)
        except (DatabaseError, InterfaceError) as error:
            self._take = _raising(error)
            self._disconnect()
            return False
        self._take = lambda: self._answer(values)
        return True

    def is_answered(self) -> bool:
        """Take what has come; say whether the answer can be taken without waiting."""
        server = self.session.pgconn
        try:
            server.consume_input()
            while not server.is_busy():
                result = server.get_result()
                if result is None:
                    return True
                self._last = result
        except psycopg.Error:
            return True  # which says it again
        return False

    def answer(self) -> set[int]:
        """Wait for the answer; return the ids. Raises as ``write_shortly`` does."""
        take, self._take = self._take, None
        assert take is not None, "nothing was sent"
        return take()

    def close(self) -> None:
        """Close the session; a write on its way may still be done, or not."""
        self._take = None
        self._disconnect()

    def _write_at_once(self, values: Values, caller: BaseDatabaseWrapper) -> Callable[[], set[int]]:
        def send(text: str) -> set[int]:
            return write_shortly(self._using, text)

        try:
            found = send_planned(send, self._template, values, caller)
        except (DatabaseError, InterfaceError) as error:
            return _raising(error)
        return lambda: found

    def _send(self, values: Values) -> None:
        connection = self._connection
        if connection.connection is None:
            connection.ensure_connection()
            self._prepare()
        self._last = None
        with connection.wrap_database_errors:
            session = self.session
            server, encoding = session.pgconn, session.info.encoding
            if self._is_prepared:
                given = [_text(values[each], encoding) for each in self._template.variables]
                server.send_query_prepared(STATEMENT, given)
            else:
                text = whole_transaction(self._template.fill(values, connection))
                server.send_query(text.encode(encoding))
            while server.flush():
                select.select([server.socket], [server.socket], [])
                server.consume_input()

    def _prepare(self) -> None:
        """Tell the session once what a transaction would be told each time."""
        connection = self._connection
        self._is_prepared = is_own_session(connection)
        if self._is_prepared:
            with connection.cursor() as cursor:
                cursor.execute(session_settings())
                cursor.execute(f"PREPARE {STATEMENT.decode()} AS\n{self._template.numbered()}")

    def _answer(self, values: Values) -> set[int]:
        connection = self._connection
        try:
            with connection.wrap_database_errors:
                while not self.is_answered():
                    select.select([self.session.pgconn.socket], [], [])
                if self._last is None:
                    raise psycopg.OperationalError("the server has not answered")
                return ids_of(self._last, self.session)
        except OperationalError:
            self._disconnect()
            raise
        except DatabaseError as error:
            if not isinstance(error.__cause__, FORGOTTEN):
                raise
        self._disconnect()  # the table has changed; nothing was done
        self._send(values)
        return self._answer(values)

    def _disconnect(self) -> None:
        self._last = None
        session = self._connection.connection
        with contextlib.suppress(DatabaseError, InterfaceError):
            if session is not None:
                session.close()  # so that Django's pool, if there is one, lends it to nobody
            self._connection.close()


def _text(value: Any, encoding: str) -> bytes | None:
    return None if value is None else str(value).encode(encoding)


def _raising(error: Exception) -> Callable[[], set[int]]:
    def take() -> set[int]:
        raise error

    return take
