"""What the database calls a foreign key."""

from __future__ import annotations

from pathlib import Path

from django.db import connection

SQL = Path(__file__).parent / "sql"


def constraint_name(table: str, column: str) -> str:
    """Return the name of the foreign key on a column; empty when the database has none."""
    statement = (SQL / "constraint_of_column.sql").read_text(encoding="utf-8")
    with connection.cursor() as cursor:
        cursor.execute(statement, {"table": table, "column": column})
        row = cursor.fetchone()
    return "" if row is None else str(row[0])
