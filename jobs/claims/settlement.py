"""Statements of a caller's own that end claims."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field


@dataclass(kw_only=True)
class Settlement:
    """Rows that a statement of the caller's own settles, and the ids that it returned."""

    ids: Collection[int]
    changed: set[int] = field(default_factory=set)


@dataclass(kw_only=True)
class Completion(Settlement):
    """The same, with the statement that marks them done."""

    statement: str
