"""The statements that a piece of work sends, and how the server would run them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from django.db import connection

OWN = re.compile(r"(?:WITH|UPDATE)\b.*", re.DOTALL)


@contextlib.contextmanager
def captured() -> Iterator[list[str]]:
    """Collect the claims and fenced writes that are sent inside, values filled in."""
    found: list[str] = []

    def keep(execute: Any, text: Any, parameters: Any, many: Any, context: Any) -> Any:
        result = execute(text, parameters, many, context)
        complete = _filled(str(text), parameters)
        found.extend(
            match[0] for match in map(OWN.match, complete.split(";\n")) if match is not None
        )
        return result

    with connection.execute_wrapper(keep):
        yield found


def _filled(text: str, parameters: Any) -> str:
    if not parameters:
        return text
    with connection.cursor() as cursor:
        return str(connection.ops.last_executed_query(cursor, text, parameters))


def plan_of(statement: str) -> list[dict[str, Any]]:
    """Return the nodes of a statement's plan, without running it."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}")
        (answer,) = cursor.fetchone()
    return list(_walk(answer[0]["Plan"]))


def _walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _walk(child)
