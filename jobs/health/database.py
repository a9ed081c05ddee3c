"""
Asks the database whether it answers and is migrated, within a bound.

On a connection of its own, opened the way the site opens its own: Django's connection of
a thread may be half-open, and then waits for as long as the kernel does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import cache
from typing import LiteralString

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.loader import MigrationLoader
from psycopg import sql

from jobs import direct
from jobs.failure import headline
from jobs.health.reasons import Reason

SECONDS = 2
# Anyone may ask: not more than one connection a second comes of it.
KEEP_SECONDS = 1.0
# Connecting, two statements, and a little.
WAIT_SECONDS = 5.0

Key = tuple[str, str]


class DatabaseCheck:
    """One check at a time; its result is kept for a second, that all is migrated for good."""

    def __init__(
        self, *, using: str = DEFAULT_DB_ALIAS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._using = using
        self._clock = clock
        self._lock = threading.Lock()
        self._migrated = False
        self._kept_until = float("-inf")
        self._kept: list[Reason] = []

    def reasons(self) -> list[Reason]:
        """Return what keeps the database from serving this process; nothing when all is well."""
        if not self._lock.acquire(timeout=WAIT_SECONDS):
            return [_unreachable(f"no answer within {WAIT_SECONDS:g} s")]
        try:
            if self._clock() >= self._kept_until:
                self._kept = self._ask()
                self._kept_until = self._clock() + KEEP_SECONDS
            return self._kept
        finally:
            self._lock.release()

    def _ask(self) -> list[Reason]:
        try:
            return self._converse()
        except Exception as error:  # noqa: BLE001 (whatever it is, it is the answer)
            return [_unreachable(headline(error))]

    def _converse(self) -> list[Reason]:
        connection = direct.connect_like_django(
            application_name="engineroom-health", using=self._using, connect_seconds=SECONDS
        )
        # Not psycopg's own context: it would roll back, on a connection that may not answer.
        with closing(connection):
            self._run(connection, "SELECT 1")
            pending = [] if self._migrated else self._pending(connection)
        self._migrated = not pending
        return [_unapplied(pending)] if pending else []

    def _pending(self, connection: direct.Connection) -> list[Key]:
        try:
            rows = self._run(connection, "SELECT app, name FROM django_migrations")
        except psycopg.errors.UndefinedTable:
            rows = []
        return unapplied({(str(app), str(name)) for app, name in rows})

    def _run(
        self, connection: direct.Connection, statement: LiteralString
    ) -> list[tuple[str | None, ...]]:
        # LOCAL, since behind a pooler the connection is not ours to change.
        limits = [
            sql.SQL("SET LOCAL statement_timeout = {}").format(sql.Literal(SECONDS * 1000)),
            *_role(self._using),
        ]
        return direct.run(
            connection, direct.compose(*limits, sql.SQL(statement)), limit_seconds=SECONDS
        )


def unapplied(applied: set[Key]) -> list[Key]:
    """
    Return the migrations of the installed apps that are not among the applied ones.

    A squashed migration counts as applied with all that it replaces.
    """
    replaced = _migrations_on_disk()

    def is_applied(key: Key) -> bool:
        if key in applied:
            return True
        parts = replaced.get(key, ())
        return bool(parts) and all(is_applied(part) for part in parts)

    return sorted(key for key in replaced if not is_applied(key))


@cache
def _migrations_on_disk() -> dict[Key, tuple[Key, ...]]:
    """Return every migration with those that it replaces. Read once: code does not change."""
    loader = MigrationLoader(None, load=False, ignore_no_migrations=True)
    loader.load_disk()
    return {
        key: tuple((app, name) for app, name in migration.replaces)
        for key, migration in loader.disk_migrations.items()
    }


def _role(using: str) -> list[sql.Composable]:
    role = connections.settings[using]["OPTIONS"].get("assume_role")
    return [sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(role))] if role else []


def _unreachable(detail: str) -> Reason:
    return Reason(code="database", detail=detail)


def _unapplied(pending: list[Key]) -> Reason:
    shown = ", ".join(f"{app}.{name}" for app, name in pending[:3])
    more = " …" if len(pending) > 3 else ""
    return Reason(
        code="migrations",
        detail=f"{len(pending)} not applied ({shown}{more}): run manage.py migrate",
    )
