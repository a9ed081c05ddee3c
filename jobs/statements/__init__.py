"""Statements written out but for a few values, and kept planned by the server."""

from jobs.statements.answers import Rows, read_rows
from jobs.statements.prepared import FORGOTTEN, is_own_session, release, send_planned
from jobs.statements.template import Template, Variable, literal, make_template

__all__ = [
    "FORGOTTEN",
    "Rows",
    "Template",
    "Variable",
    "is_own_session",
    "literal",
    "make_template",
    "read_rows",
    "release",
    "send_planned",
]
