"""The statements of this package, each a file of its own."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from django.db import connection

SQL = Path(__file__).parent / "sql"


@cache
def statement(name: str) -> str:
    """Return a statement by the name of its file."""
    return (SQL / f"{name}.sql").read_text(encoding="utf-8")


def fetch(name: str, **parameters: Any) -> list[tuple[Any, ...]]:
    """Execute a statement; return all of its rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement(name), parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
