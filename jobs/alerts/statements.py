"""Runs the statements of ``jobs/sql``, one file each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from django.db import connection

SQL = Path(__file__).resolve().parent.parent / "sql"


def fetch(name: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a statement by its file's name, each by column."""
    with connection.cursor() as cursor:
        cursor.execute(_text(name), dict(parameters))
        columns = [column[0] for column in cursor.description]
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]


def as_json(value: Any) -> Any:
    """Return what a JSON column holds: a bare cursor of Django's gives it as text."""
    return json.loads(value) if isinstance(value, str) else value


@cache
def _text(name: str) -> str:
    return (SQL / f"{name}.sql").read_text(encoding="utf-8")
