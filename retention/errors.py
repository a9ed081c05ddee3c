"""What retention raises. Each class owns its text; callers pass data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.errors import EngineroomError, PartlyFailedError
from jobs.output.errors import UsageError


class TargetsFailedError(PartlyFailedError):
    """A sweep in which a target had an error; the others were swept."""

    def __init__(self, summary: Mapping[str, Mapping[str, Any]]) -> None:
        failed = {name: entry["error"] for name, entry in summary.items() if "error" in entry}
        listed = "; ".join(f"{name}: {error}" for name, error in failed.items())
        super().__init__(f"{len(failed)} of {len(summary)} targets had an error: {listed}", summary)


class UnknownTargetError(UsageError):
    """A name that no installed app declares."""

    def __init__(self, name: str, known: list[str], nearest: str | None) -> None:
        hint = f"did you mean {nearest}?" if nearest else f"declared: {', '.join(known) or 'none'}"
        super().__init__(f"No retention target is declared with the name {name!r}; {hint}")


class DaysError(EngineroomError, ValueError):
    """Something written as a number of days that is none of those allowed."""

    def __init__(self, given: str) -> None:
        shown = " ".join(given.split())[:40]
        super().__init__(
            f"{shown!r} is not allowed: write a whole number of days from 0 to 3650, or nothing "
            "to keep the rows for ever."
        )


class KeptForEverError(EngineroomError):
    """A target that is asked to be swept and that no operator gave a number of days."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} is not swept: give it a number of days on the page Retention, and enable it."
        )
