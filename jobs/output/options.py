"""What options may hold. A wrong value is refused by the option's name, with exit code 2."""

from __future__ import annotations

import datetime as dt
import re
from argparse import ArgumentParser, ArgumentTypeError

from jobs.reads.paging import LARGEST_LIMIT, PAGE_LIMIT
from jobs.schedule import database_now

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
LONGEST_DAYS = 36_500
LONGEST_NUMBER = 18  # what a bigint holds for certain

Moment = dt.timedelta | dt.datetime  # so long ago or ahead, or an instant

_DURATION = re.compile(r"(?P<number>[0-9]{1,7})(?P<unit>[smhdw])")


def duration(text: str) -> dt.timedelta:
    """Return ``15m``, ``24h`` or ``7d`` as a length of time."""
    found = _DURATION.fullmatch(text.strip())
    number = int(found["number"]) if found else 0
    length = dt.timedelta(**{UNITS[found["unit"]]: number}) if found else dt.timedelta(0)
    if not dt.timedelta(0) < length <= dt.timedelta(days=LONGEST_DAYS):
        raise ArgumentTypeError(
            f"{text!r} is not a length of time: write a number and a unit, such as 15m, 24h or 7d"
        )
    return length


def moment(text: str) -> Moment:
    """Return a length of time, or an ISO 8601 time; one without a zone is UTC."""
    try:
        return duration(text)
    except ArgumentTypeError:
        pass
    try:
        instant = dt.datetime.fromisoformat(text.strip())
        zoned = instant if instant.tzinfo else instant.replace(tzinfo=dt.UTC)
        return zoned.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        raise ArgumentTypeError(
            f"{text!r} is neither a length of time such as 24h nor an ISO 8601 time such as "
            "2026-12-01T02:00:00Z"
        ) from None


def row_id(text: str) -> int:
    """Return the key of a row."""
    found = parse_id(text)
    if found is None:
        raise ArgumentTypeError(f"{text!r} is not an id: write a whole number from 1")
    return found


def parse_id(text: str) -> int | None:
    """Return a key in plain digits as a number, None for anything else."""
    fits = text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER
    return (int(text) or None) if fits else None


def page_limit(text: str) -> int:
    """Return how many items a page has."""
    found = parse_id(text)
    if found is None or found > LARGEST_LIMIT:
        raise ArgumentTypeError(f"{text!r} is not a number from 1 to {LARGEST_LIMIT}")
    return found


def add_paging(parser: ArgumentParser, *, default: int = PAGE_LIMIT) -> None:
    """Add ``--limit`` and ``--before``."""
    parser.add_argument(
        "--limit",
        type=page_limit,
        default=default,
        metavar="N",
        help=f"items, 1 to {LARGEST_LIMIT} (default {default})",
    )
    parser.add_argument(
        "--before", type=row_id, metavar="ID", help="older ones: next_before_id of the last page"
    )


def add_actor(parser: ArgumentParser, *, reason: str = "--reason") -> None:
    """Add who acts, and why; both are kept in the audit."""
    parser.add_argument(reason, default="", metavar="TEXT", help="why; kept in the audit")
    parser.add_argument("--user", metavar="NAME", help="the user who acts (default: yours here)")


def reach_back(value: Moment | None) -> dt.timedelta | None:
    """Return how long before the database's now a moment is."""
    return database_now() - value if isinstance(value, dt.datetime) else value


def instant_before(value: Moment) -> dt.datetime:
    """Return the instant that is so long before the database's now."""
    return value if isinstance(value, dt.datetime) else database_now() - value


def instant_ahead(value: Moment) -> dt.datetime:
    """Return the instant that is so long after the database's now."""
    return value if isinstance(value, dt.datetime) else database_now() + value
