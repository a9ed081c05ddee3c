"""
The five fields of a cron expression, parsed strictly.

croniter accepts more than can be kept (seconds, years, ``R``, dates that never come)
and reads some of it unlike cron (``5-5`` as the whole field). So each field becomes a
plain list of numbers here, and croniter is given that list.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import functools
import re

from croniter import croniter

from jobs.errors import CadenceError

LONGEST_EXPRESSION = 200

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

_MONTH_NAMES = (
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
)  # fmt: skip
_DAY_NAMES = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LONGEST_MONTHS = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 (wall-clock arithmetic has no zone)

_TERM = re.compile(
    r"(?P<first>\*|[0-9]{1,4}|[a-z]{3})(-(?P<last>[0-9]{1,4}|[a-z]{3}))?(/(?P<step>[0-9]{1,4}))?"
)
_NTH_WEEKDAY = re.compile(r"([0-7]|sun|mon|tue|wed|thu|fri|sat)#([1-5])")
_FOREIGN_TERMS = (
    (re.compile(r"h(\(.*)?(/.*)?"), "H (a hash of a name) is not a time; write the value"),
    (re.compile(r"r(\(.*)?(/.*)?"), "R is random and would differ between replicas"),
    (re.compile(r"l?w|[0-9]+w|w[0-9]+"), "W (nearest weekday) is not supported"),
    (re.compile(r"l.+|.+l"), "L is supported only as the whole day of the month"),
    (re.compile(r".*#.*"), "# is supported only as one weekday and 1 to 5, such as fri#2"),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Field:
    """One of the five fields: its name in messages, its range, its names for values."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    @property
    def everything(self) -> frozenset[int]:
        """Return all values of the field."""
        return frozenset(range(self.low, self.high + 1))


MINUTE = Field(name="minute", low=0, high=59)
HOUR = Field(name="hour", low=0, high=23)
DAY = Field(name="day of the month", low=1, high=31)
MONTH = Field(name="month", low=1, high=12, names=_MONTH_NAMES)
WEEKDAY = Field(name="day of the week", low=0, high=6, names=_DAY_NAMES)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CronFields:
    """A parsed expression: which wall-clock times match."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: str  # three fields as croniter reads them, without names, steps or ranges
    days_either: bool  # day of month OR day of week, as in cron
    fixed: bool  # neither minute nor hour begins with a star

    @functools.cached_property
    def minutes_of_day(self) -> tuple[int, ...]:
        """Return the matching times of a matching day, in minutes after midnight."""
        return tuple(hour * 60 + minute for hour in self.hours for minute in self.minutes)

    def next_wall(self, wall: dt.datetime) -> dt.datetime:
        """Return the first matching wall-clock time after this one (both without a zone)."""
        return _step(self._times, wall)

    def next_wall_from(self, wall: dt.datetime) -> dt.datetime:
        """Return the first matching wall-clock time at or after this one."""
        return _step(self._times, wall - dt.timedelta.resolution)

    def next_date(self, day: dt.date) -> dt.date:
        """Return the first matching date at or after this one."""
        midnight = dt.datetime.combine(day, dt.time())
        return _step(self._dates, midnight - dt.timedelta.resolution).date()

    @functools.cached_property
    def _times(self) -> croniter:
        return self._matcher(f"{_listed(self.minutes)} {_listed(self.hours)} {self.days}")

    @functools.cached_property
    def _dates(self) -> croniter:
        return self._matcher(f"0 0 {self.days}")

    def _matcher(self, expression: str) -> croniter:
        return croniter(expression, _EPOCH, day_or=self.days_either)


def normalise(expression: str) -> str:
    """
    Return the expression in lower case with single spaces.

    Raise CadenceError for anything but a short line of plain ASCII: a NUL, a newline
    or a digit of another script would mean something else to each reader.
    """
    if not isinstance(expression, str):
        raise _refuse(expression, "it is not text")
    if len(expression) > LONGEST_EXPRESSION:
        raise _refuse(expression, f"it is longer than {LONGEST_EXPRESSION} characters")
    for character in expression:
        if not (" " <= character <= "~" or character == "\t"):
            raise _refuse(expression, f"it holds the character U+{ord(character):04X}")
    words = expression.lower().split()
    if not words:
        raise _refuse(expression, "it is empty; write five fields, such as 30 2 * * *")
    return " ".join(words)


@functools.lru_cache(maxsize=8192)
def parse_fields(expression: str) -> CronFields:
    """Return the fields of a normalised expression; raise CadenceError with the reason."""
    minute, hour, day, month, weekday = _split(expression)
    months = _values(expression, MONTH, month)
    days, days_either = _day_fields(expression, day, months, weekday)
    return CronFields(
        minutes=tuple(sorted(_values(expression, MINUTE, minute))),
        hours=tuple(sorted(_values(expression, HOUR, hour))),
        days=days,
        days_either=days_either,
        fixed=not minute.startswith("*") and not hour.startswith("*"),
    )


def _split(expression: str) -> list[str]:
    if expression == "@reboot":
        raise _refuse(expression, "a restart is not a time")
    if expression.startswith("@") and expression not in MACROS:
        raise _refuse(expression, f"the names are {', '.join(MACROS)}")
    words = MACROS.get(expression, expression).split()
    if len(words) in {6, 7}:
        raise _refuse(
            expression,
            f"it has {len(words)} fields; there are no seconds or years, write exactly five",
        )
    if len(words) != 5:
        raise _refuse(expression, f"it has {len(words)} of the five fields")
    return words


def _day_fields(
    expression: str, day: str, months: frozenset[int], weekday: str
) -> tuple[str, bool]:
    special = _special_days(expression, day, weekday)
    if special:
        return f"{special[0]} {_text(MONTH, months)} {special[1]}", True
    days = _values(expression, DAY, day)
    weekdays = _values(expression, WEEKDAY, weekday)
    # As in cron: a field that begins with a star narrows the other one; two fields
    # that do not are alternatives.
    either = day[0] not in "*?" and weekday[0] not in "*?"
    if either and (days == DAY.everything or weekdays == WEEKDAY.everything):
        days, weekdays = DAY.everything, WEEKDAY.everything
    if min(days) > max(_LONGEST_MONTHS.get(month, 31) for month in months):
        if not either:
            raise _refuse(expression, "no month that it names has such a day, so it never comes")
        days, either = DAY.everything, False
    text = f"{_text(DAY, days)} {_text(MONTH, months)} {_text(WEEKDAY, weekdays)}"
    return text, either


def _special_days(expression: str, day: str, weekday: str) -> tuple[str, str] | None:
    if day == "l":
        if weekday not in {"*", "?"}:
            raise _refuse(expression, "L cannot be combined with a day of the week")
        return "l", "*"
    nth = _NTH_WEEKDAY.fullmatch(weekday)
    if not nth:
        return None
    if day not in {"*", "?"}:
        raise _refuse(expression, "# cannot be combined with a day of the month")
    return "*", f"{_value(expression, WEEKDAY, nth[1]) % 7}#{nth[2]}"


def _values(expression: str, field: Field, text: str) -> frozenset[int]:
    if text == "?" and field in {DAY, WEEKDAY}:
        return field.everything
    return frozenset(
        value for term in text.split(",") for value in _term_values(expression, field, term)
    )


def _term_values(expression: str, field: Field, term: str) -> list[int]:
    match = _TERM.fullmatch(term)
    if not match or (match["first"] == "*" and match["last"]):
        raise _refuse(expression, _foreign(field, term))
    first, last = _bounds(expression, field, match)
    step = int(match["step"] or 1)
    if not 1 <= step <= len(field.everything):
        raise _refuse(
            expression,
            f"the step {step} of the {field.name} is not from 1 to {len(field.everything)}",
        )
    values = range(first, last + 1, step)
    return [value % 7 for value in values] if field is WEEKDAY else list(values)


def _bounds(expression: str, field: Field, match: re.Match[str]) -> tuple[int, int]:
    if match["first"] == "*":
        return field.low, field.high
    first = _value(expression, field, match["first"])
    if match["last"] is None:
        return first, field.high if match["step"] else first
    last = _value(expression, field, match["last"])
    if match["last"] == "sun":
        last = 7 if first else 0
    if first > last:
        raise _refuse(
            expression,
            f"the {field.name} {match['first']}-{match['last']} runs backwards;"
            " write two ranges with a comma",
        )
    return first, last


def _value(expression: str, field: Field, text: str) -> int:
    if text in field.names:
        return field.low + field.names.index(text)
    if not text.isdigit():
        raise _refuse(expression, _foreign(field, text))
    value, high = int(text), 7 if field is WEEKDAY else field.high
    if not field.low <= value <= high:
        raise _refuse(expression, f"the {field.name} {value} is not from {field.low} to {high}")
    return value


def _foreign(field: Field, term: str) -> str:
    for pattern, reason in _FOREIGN_TERMS:
        if pattern.fullmatch(term) and term not in field.names:
            return reason
    return f"{term!r} is no {field.name}"


def _text(field: Field, values: frozenset[int]) -> str:
    return "*" if values == field.everything else _listed(sorted(values))


def _listed(values: tuple[int, ...] | list[int]) -> str:
    return ",".join(str(value) for value in values)


def _step(matcher: croniter, wall: dt.datetime) -> dt.datetime:
    # A croniter is an iterator with a place; a copy per call keeps threads apart.
    found: dt.datetime = copy.copy(matcher).get_next(dt.datetime, start_time=wall)
    return found


def _refuse(expression: object, reason: str) -> CadenceError:
    return CadenceError("cron expression", expression, reason)
