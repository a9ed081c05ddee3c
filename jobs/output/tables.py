"""Aligned tables with upper-case headers and no box lines. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jobs.output.text import cut, display_width, one_line, pad

GAP = "  "
NARROWEST = 12
NOTHING = "-"

Paint = Callable[[str, str], str]  # the word of a cell, the padded cell: the coloured cell


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column; where a terminal is narrow some give way before others."""

    title: str
    shrinks: bool = False  # cut, down to 12 columns
    optional: bool = False  # left out, and the last such column first
    is_state: bool = False  # coloured by its word, where there are colours


def table_lines(
    columns: Sequence[Column],
    rows: Sequence[Sequence[object]],
    *,
    width: int | None = None,
    paint: Paint | None = None,
) -> list[str]:
    """
    Return a header and a line per row; ``width`` is the terminal's, None without one.

    An empty cell, or None, is ``-``.
    """
    cells = [[column.title.upper() for column in columns]]
    cells += [[_cell(value) for value in row] for row in rows]
    widths = [max(display_width(cell) for cell in column) for column in zip(*cells, strict=True)]
    shown = list(range(len(columns)))
    if width is not None:
        shown = _fitting(columns, widths, width)
        widths = _shrunk(columns, widths, shown, width)
    painters = [None, *([paint] * len(rows))]  # the header has no state
    return [
        _line(columns, row, widths, shown, painter)
        for row, painter in zip(cells, painters, strict=True)
    ]


def _cell(value: object) -> str:
    return NOTHING if value is None or value == "" else one_line(str(value))


def _fitting(columns: Sequence[Column], widths: list[int], width: int) -> list[int]:
    """Return the columns that fit once all that shrink have shrunk."""
    shown = list(range(len(columns)))
    least = [
        min(size, NARROWEST) if column.shrinks else size
        for column, size in zip(columns, widths, strict=True)
    ]
    for number in reversed(range(len(columns))):
        if _total(least, shown) <= width:
            break
        if columns[number].optional:
            shown.remove(number)
    return shown


def _shrunk(
    columns: Sequence[Column], widths: list[int], shown: list[int], width: int
) -> list[int]:
    """Return the widths that fit: the widest column that shrinks gives way first."""
    found = list(widths)
    elastic = [number for number in shown if columns[number].shrinks]
    while (excess := _total(found, shown) - width) > 0 and elastic:
        ranked = sorted((found[number] for number in elastic), reverse=True)
        widest = max(elastic, key=lambda number: found[number])
        following = ranked[1] if len(ranked) > 1 else NARROWEST
        step = max(1, min(excess, found[widest] - following))
        found[widest] = max(NARROWEST, found[widest] - step)
        elastic = [number for number in elastic if found[number] > NARROWEST]
    # What still does not fit is cut at the terminal's edge, from the right.
    for number in reversed(shown):
        excess = _total(found, shown) - width
        if excess <= 0:
            break
        found[number] = max(1, found[number] - excess)
    return found


def _total(widths: Sequence[int], shown: Sequence[int]) -> int:
    return sum(widths[number] for number in shown) + len(GAP) * (len(shown) - 1)


def _line(
    columns: Sequence[Column],
    row: Sequence[str],
    widths: Sequence[int],
    shown: Sequence[int],
    paint: Paint | None,
) -> str:
    parts = []
    for number in shown:
        text = cut(row[number], widths[number])
        # Blanks at the end of a line would be in the way of whoever selects it.
        filled = text if number == shown[-1] else pad(text, widths[number])
        is_state = paint is not None and columns[number].is_state
        parts.append(paint(row[number], filled) if paint is not None and is_state else filled)
    return GAP.join(parts).rstrip()
