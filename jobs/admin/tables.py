"""A run's summary as a table, when it is one. Pure functions over JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LONGEST_CELL = 200
MOST_COLUMNS = 12


@dataclass(frozen=True, kw_only=True)
class Table:
    """Columns and rows of text, the first column being the name."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def table_of(value: Any) -> Table | None:
    """Return a table for ``{name: {…}}`` and for ``{name: number or text}``; else None."""
    if not isinstance(value, Mapping) or not value:
        return None
    if all(isinstance(item, Mapping) for item in value.values()):
        return _nested(value)
    if all(item is None or isinstance(item, (str, int, float)) for item in value.values()):
        rows = tuple((str(name), cell(item)) for name, item in value.items())
        return Table(columns=("name", "value"), rows=rows)
    return None


def cell(value: Any) -> str:
    """Return a value as the text of a cell."""
    match value:
        case None:
            return "—"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    text = str(value)
    if len(text) <= LONGEST_CELL:
        return text
    return f"{text[:LONGEST_CELL]}… ({len(text):,} characters)"


def _nested(value: Mapping[str, Any]) -> Table | None:
    columns = list(dict.fromkeys(name for item in value.values() for name in item))
    if not columns or len(columns) > MOST_COLUMNS:
        return None
    rows = tuple(
        (str(name), *(cell(item[column]) if column in item else "" for column in columns))
        for name, item in value.items()
    )
    return Table(columns=("name", *columns), rows=rows)
