"""Which rows a verb is about: ids, or a named set up to a highest id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Max, Model, Q, QuerySet

from jobs.admin.search import whole_number
from jobs.errors import EngineroomError

MOST_IDS = 1000
SAMPLE_SIZE = 10


class SelectionError(EngineroomError):
    """A selection that cannot be read from an address or a form."""

    def __init__(self, name: str, value: str, allowed: str) -> None:
        super().__init__(f"{name}={value[:60]} selects no rows: give {allowed}.")


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Either ids or a scope; ``up_to`` keeps later rows out of a scope."""

    ids: tuple[int, ...] = ()
    scope: str = ""
    up_to: int | None = None

    @classmethod
    def read(cls, source: Mapping[str, str], scopes: Mapping[str, Q]) -> Selection:
        """Read a selection from a query string or a form; raise ``SelectionError``."""
        scope = source.get("scope", "")
        if scope:
            if scope not in scopes:
                raise SelectionError("scope", scope, " or ".join(scopes) or "ids")
            up_to = source.get("up_to", "")
            return cls(scope=scope, up_to=_number("up_to", up_to) if up_to else None)
        texts = [text for text in source.get("ids", "").split(",") if text]
        if not texts or len(texts) > MOST_IDS:
            raise SelectionError("ids", source.get("ids", ""), f"1 to {MOST_IDS:,} ids")
        return cls(ids=tuple(dict.fromkeys(_number("ids", text) for text in texts)))

    @property
    def is_single(self) -> bool:
        return len(self.ids) == 1

    @property
    def ids_text(self) -> str:
        """The ids as a form carries them."""
        return ",".join(str(number) for number in self.ids)

    def rows(self, model: type[Model], scopes: Mapping[str, Q]) -> QuerySet[Any]:
        """Return the selected rows."""
        everything = model._default_manager.all()
        if not self.scope:
            return everything.filter(pk__in=self.ids)
        rows = everything.filter(scopes[self.scope])
        return rows if self.up_to is None else rows.filter(pk__lte=self.up_to)


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What a verb would do."""

    selection: Selection  # with its highest id fixed
    count: int
    sample: tuple[Any, ...]  # the newest ten
    highest_id: int | None
    left_alone: int  # selected, but not in a state for the verb


def preview(
    model: type[Model], selection: Selection, scopes: Mapping[str, Q], eligible: Q
) -> Preview:
    """Return what a verb would do to the rows that are eligible now."""
    selected = selection.rows(model, scopes)
    rows = selected.filter(eligible)
    highest = rows.aggregate(highest=Max("pk"))["highest"]
    if selection.scope and selection.up_to is None:
        selection = replace(selection, up_to=highest or 0)
        rows = rows.filter(pk__lte=selection.up_to)
    count = rows.count()
    return Preview(
        selection=selection,
        count=count,
        sample=tuple(rows.order_by("-pk")[:SAMPLE_SIZE]) if count else (),
        highest_id=highest,
        left_alone=0 if selection.scope else len(selection.ids) - count,
    )


def _number(name: str, text: str) -> int:
    number = whole_number(text)
    if number is None:
        raise SelectionError(name, text, "whole numbers")
    return number
