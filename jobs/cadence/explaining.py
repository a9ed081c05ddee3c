"""Cron schedules in words, for pages and lists."""

from __future__ import annotations

import calendar
import re
from typing import TYPE_CHECKING

from jobs.cadence.fields import MACROS, MONTH, WEEKDAY

if TYPE_CHECKING:
    from jobs.cadence.cron import Cron

_MOST_TIMES = 4
_NUMBER = re.compile(r"[0-9]+")
_STEP = re.compile(r"\*/([0-9]+)")
_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


def explain_cron(cron: Cron) -> str:
    """Return words such as "every day at 02:30 Europe/Berlin", else the expression."""
    minute, hour, day, month, weekday = MACROS.get(cron.expression, cron.expression).split()
    days = _days(day, month, weekday)
    times = _times(cron, minute, hour)
    if not days or not times:
        return f"{cron.expression} {cron.zone}"
    if times.startswith("at "):
        return f"{days} {times} {cron.zone}"
    return times if days == "every day" else f"{times}, {days}, {cron.zone}"


def _times(cron: Cron, minute: str, hour: str) -> str | None:
    if hour == "*":
        return _within_the_hour(minute)
    times = [f"{m // 60:02}:{m % 60:02}" for m in cron.fields.minutes_of_day]
    if cron.fields.fixed and len(times) <= _MOST_TIMES:
        return f"at {_joined(times)}"
    step = _STEP.fullmatch(hour)
    if step and minute.isdigit() and 24 % int(step[1]) == 0:
        return f"every {step[1]} hours from 00:{int(minute):02} {cron.zone}"
    return None


def _within_the_hour(minute: str) -> str | None:
    step = _STEP.fullmatch(minute)
    if minute == "*" or (step and int(step[1]) == 1):
        return "every minute"
    if step and 60 % int(step[1]) == 0:
        return f"every {step[1]} minutes"
    if minute.isdigit():
        return "every hour" if int(minute) == 0 else f"every hour at minute {int(minute)}"
    return None


def _days(day: str, month: str, weekday: str) -> str | None:
    match day in {"*", "?"}, month == "*", weekday in {"*", "?"}:
        case True, True, True:
            return "every day"
        case True, True, False:
            return _weekdays(weekday)
        case False, True, True:
            return _month_day(day)
        case False, False, True if _NUMBER.fullmatch(day):
            return _date(int(day), month)
        case _:
            return None


def _weekdays(weekday: str) -> str | None:
    if weekday in {"1-5", "mon-fri"}:
        return "Monday to Friday"
    name, _, nth = weekday.partition("#")
    numbers = [_index(WEEKDAY.names, part) for part in name.split(",")]
    if None in numbers:
        return None
    names = [_WEEKDAYS[number % 7] for number in numbers if number is not None]
    if nth:
        return f"the {_ORDINALS[int(nth) - 1]} {names[0]} of every month"
    return f"every {_joined(names)}"


def _month_day(day: str) -> str | None:
    if day == "l":
        return "the last day of every month"
    return f"day {int(day)} of every month" if day.isdigit() else None


def _date(day: int, month: str) -> str | None:
    number = _index(("", *MONTH.names), month)
    return f"every {day} {calendar.month_name[number]}" if number else None


def _index(names: tuple[str, ...], text: str) -> int | None:
    if text.isdigit():
        return int(text)
    return names.index(text) if text in names else None


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
