"""The statements of this package, each in a file of its own with its reason."""

from __future__ import annotations

from functools import cache
from pathlib import Path

SQL = Path(__file__).parent / "sql"


@cache
def statement(name: str) -> str:
    """Return the text of ``sql/NAME.sql``."""
    return (SQL / f"{name}.sql").read_text(encoding="utf-8")
