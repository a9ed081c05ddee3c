"""What an operator may write as a number of days. Refused and never coerced otherwise."""

from __future__ import annotations

import re

from retention.errors import DaysError
from retention.models import LONGEST_DAYS

WHOLE = re.compile(r"[0-9]{1,4}")


def parse_days(text: str) -> int | None:
    """
    Return a number of days; None, for ever, for an empty text.

    Raises ``DaysError`` for everything but plain digits within the range: ``int()`` takes
    more than people mean, and a number that was rounded deletes what should have stayed.
    """
    given = text.strip()
    if not given:
        return None
    if not WHOLE.fullmatch(given) or int(given) > LONGEST_DAYS:
        raise DaysError(text)
    return int(given)


def days_words(days: int | None) -> str:
    """Return in words for how long rows are kept."""
    match days:
        case None:
            return "for ever"
        case 0:
            return "until the next sweep"
        case 1:
            return "1 day"
    return f"{days:,} days"
