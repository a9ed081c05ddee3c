"""
Emptying the tables after a test that commits.

Django truncates every table and writes all content types and permissions anew, which takes
longer than most of these tests. Here only tables with rows are emptied, and those two kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections
from django.test import testcases
from psycopg import sql

KEPT = ["django_migrations", "django_content_type", "auth_permission"]
# Above it a TRUNCATE is quicker than a DELETE.
SMALL_BYTES = 1_000_000


def install(patch: pytest.MonkeyPatch) -> None:
    """Make the flush after each test a short one."""
    call: Callable[..., Any] = testcases.call_command

    def call_command(name: str, *args: Any, **options: Any) -> Any:
        if name == "flush":
            return empty_tables(options.get("database", "default"))
        return call(name, *args, **options)

    patch.setattr(testcases, "call_command", call_command)


def empty_tables(alias: str) -> None:
    """Remove all rows but those that a migrated database has from the start."""
    with connections[alias].cursor() as cursor:
        cursor.execute(
            "SELECT relname, pg_relation_size(oid) FROM pg_class"
            " WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace"
            " AND pg_relation_size(oid) > 0 AND relname <> ALL(%s)",
            [KEPT],
        )
        statements = [
            sql.SQL("DELETE FROM {}" if size < SMALL_BYTES else "TRUNCATE {} CASCADE").format(
                sql.Identifier(name)
            )
            for name, size in cursor.fetchall()
        ]
        if statements:
            # One query is one transaction, at whose end the keys between them are checked.
            cursor.execute(sql.SQL("; ").join(statements).as_string(None))
