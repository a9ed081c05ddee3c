"""
Rows that are deleted when they are old, as their apps declare them.

An app declares them in its module ``retention``, which is read at the start; nothing is
deleted by a declaration. ``RetentionTarget`` is for what an operator keeps for so many days
(job ``retention.sweep``), ``ExpiredRows`` for what nobody needs any more once its time is over
(job ``retention.sessions``).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, Q
from django.db.models.expressions import Combinable

from jobs.errors import DuplicateTargetError

# More than a condition: what ``filter()`` takes, such as an expression that is true or false.
Condition = Q | Combinable
ALL = Q()


@dataclass(frozen=True, kw_only=True)
class Along:
    """Rows of another table that go with a deleted row, in the same statement."""

    model: type[Model]
    column: str  # the field that names the deleted row: a foreign key, or only its number


@dataclass(frozen=True, kw_only=True)
class Prunable:
    """Which rows of a table may be deleted, and by which of their times."""

    name: str  # package, dot, what: "emails.sent"
    label: str  # "Sent mail", as its row on the page is called
    model: type[Model]
    # The time that is compared with the cutoff. Of the row that a foreign key leads to, it is
    # written with two underscores: "email__sent_at".
    age_column: str
    # Which rows; of all ages. A function is called once per run.
    rows: Condition | Callable[[], Condition] = ALL
    along: tuple[Along, ...] = ()
    order: int = 0  # lower ones are swept first: children before their parents
    help: str = ""  # a sentence that the page shows, where the label does not say it all

    def condition(self) -> Condition:
        """Return which rows may go, as of now."""
        return self.rows() if callable(self.rows) else self.rows


@dataclass(frozen=True, kw_only=True)
class RetentionTarget(Prunable):
    """Rows that are kept for as many days as an operator says; without a word, for ever."""


@dataclass(frozen=True, kw_only=True)
class ExpiredRows(Prunable):
    """Rows that go so long after the instant in their ``age_column``, at once by default."""

    after: Callable[[], dt.timedelta] = dt.timedelta


P = TypeVar("P", bound=Prunable)


class Declared(Generic[P]):
    """What was declared, in the order in which it is swept: by ``order``, then by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, P] = {}
        # Refused by a system check: an exception here would end the import of the app.
        self.duplicates: list[DuplicateTargetError] = []

    def add(self, prunable: P) -> P:
        """Add a declaration and return it; a second one of a name is kept out and noted."""
        known = self._by_name.setdefault(prunable.name, prunable)
        if known != prunable:
            self.duplicates.append(DuplicateTargetError(prunable.name, _table(known)))
        return prunable

    def find(self, name: str) -> P | None:
        """Return a declaration by its name, or None."""
        return self._by_name.get(name)

    def remove(self, name: str) -> None:
        """Forget a declaration."""
        self._by_name.pop(name, None)

    def __iter__(self) -> Iterator[P]:
        return iter(sorted(self._by_name.values(), key=lambda item: (item.order, item.name)))

    def __len__(self) -> int:
        return len(self._by_name)


targets: Declared[RetentionTarget] = Declared()
expired: Declared[ExpiredRows] = Declared()


def declare_target(**fields: Any) -> RetentionTarget:
    """Declare rows that are kept for a number of days; takes the fields of ``RetentionTarget``."""
    return targets.add(RetentionTarget(**fields))


def declare_expired(**fields: Any) -> ExpiredRows:
    """Declare rows that go when their time is over; takes the fields of ``ExpiredRows``."""
    return expired.add(ExpiredRows(**fields))


def _table(prunable: Prunable) -> str:
    return prunable.model._meta.db_table
