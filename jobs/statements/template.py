"""
Statements of which all but a few values is written out once.

Composing a claim's text and its forty parameters anew each time costs as much as the
server needs to plan it.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import pq, sql

PLACEHOLDER = re.compile("%([s%])")


class Variable:
    """A place among the parameters, filled in at each execution."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<Variable {self.name}>"


@dataclass(frozen=True, kw_only=True)
class Template:
    """Pieces of a statement, and the variables between them."""

    pieces: tuple[str, ...]
    variables: tuple[Variable, ...]

    def fill(self, values: Mapping[Variable, Any], connection: BaseDatabaseWrapper) -> str:
        """Return the statement with each variable's value as a literal."""
        text = [self.pieces[0]]
        for variable, piece in zip(self.variables, self.pieces[1:], strict=True):
            text += (literal(values[variable], connection), piece)
        return "".join(text)

    def numbered(self) -> str:
        """Return the statement with $1, $2 … in the places of its variables."""
        first, *others = self.pieces
        return first + "".join(f"${place}{piece}" for place, piece in enumerate(others, start=1))


def make_template(
    text: str, parameters: Sequence[Any], connection: BaseDatabaseWrapper
) -> Template:
    """Return a statement as Django compiles it with its constants written out."""
    pieces, variables, piece = [], [], ""
    remaining = iter(parameters)
    end = 0
    for found in PLACEHOLDER.finditer(text):
        piece += text[end : found.start()]
        end = found.end()
        if found[1] == "%":
            piece += "%"
            continue
        value = next(remaining)
        if isinstance(value, Variable):
            pieces.append(piece)
            variables.append(value)
            piece = ""
        else:
            piece += literal(value, connection)
    return Template(pieces=(*pieces, piece + text[end:]), variables=tuple(variables))


def literal(value: Any, connection: BaseDatabaseWrapper) -> str:
    """
    Return a value as it stands in SQL, adapted by the rules of the connection.

    The common types go straight to libpq: a mail writes a dozen of them.
    """
    match value:
        case None:
            return "NULL"
        case uuid.UUID():
            return f"'{value}'"
        case str() if "\0" not in value:  # else refused below
            return _quoted(value, connection.connection)
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value}" if value >= 0 else f"({value})"
    with connection.wrap_database_errors:
        return sql.Literal(value).as_string(connection.connection)


def _quoted(text: str, connection: psycopg.Connection[Any]) -> str:
    encoding = connection.info.encoding
    escaped: bytes = pq.Escaping(connection.pgconn).escape_literal(text.encode(encoding))
    return escaped.decode(encoding)
