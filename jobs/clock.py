"""
The database's clock, the only one that decides whether something is due.

An application clock ten minutes off changes nothing. ``jobs.testing.database_clock``
replaces what ``Now`` compiles to.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db.models import DateTimeField, DurationField, Func, Value
from django.db.models.expressions import Combinable, CombinedExpression

_frozen_at: dt.datetime | None = None


class Now(Func):
    """``statement_timestamp()``: stable within a statement, so an index condition can use it."""

    template = "statement_timestamp()"
    output_field = DateTimeField()

    def as_sql(self, *args: Any, **options: Any) -> tuple[str, Any]:
        if _frozen_at is None:
            return "statement_timestamp()", []
        return "%s::timestamptz", [_frozen_at]


class ClockTime(Func):
    """``clock_timestamp()``: the instant itself, for what a row remembers."""

    template = "clock_timestamp()"
    output_field = DateTimeField()
    # Every one is alike. Django would work it out from each one's constructor.
    identity = ("jobs.clock.ClockTime",)

    def as_sql(self, *args: Any, **options: Any) -> tuple[str, Any]:
        if _frozen_at is None:
            return "clock_timestamp()", []
        return "%s::timestamptz", [_frozen_at]


class ClockDefault(Func):
    """``clock_timestamp()`` as a column default, which no test clock changes."""

    template = "clock_timestamp()"
    output_field = DateTimeField()


def ago(milliseconds: float) -> CombinedExpression:
    """Return the instant so many milliseconds before the statement's."""
    return before(Now(), milliseconds)


def before(instant: Now | ClockTime, milliseconds: float) -> CombinedExpression:
    """Return the instant so many milliseconds before another."""
    return CombinedExpression(
        instant, Combinable.SUB, _interval(milliseconds), output_field=DateTimeField()
    )


def from_now(milliseconds: float) -> CombinedExpression:
    """Return the instant so many milliseconds after this one."""
    return CombinedExpression(
        ClockTime(), Combinable.ADD, _interval(milliseconds), output_field=DateTimeField()
    )


def frozen_at() -> dt.datetime | None:
    """Return the instant at which a test has stopped the clock, if one has."""
    return _frozen_at


def freeze(at: dt.datetime | None) -> None:
    """Stop the clock at an instant, or let it run again. For ``jobs.testing`` only."""
    global _frozen_at  # noqa: PLW0603 (one clock per process)
    _frozen_at = at


def _interval(milliseconds: float) -> Value:
    return Value(dt.timedelta(milliseconds=milliseconds), output_field=DurationField())
