"""Telling a database that is away from a statement that failed, and waiting for it."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connections

T = TypeVar("T")
logger = logging.getLogger(__name__)
FIRST_DELAY_SECONDS = 0.25
LONGEST_DELAY_SECONDS = 30.0
# Too many connections, and the server going down, coming up or refusing.
SQLSTATES = ("53300", "57P01", "57P02", "57P03", "57P05")


def is_outage(error: BaseException) -> bool:
    """Say whether the error means that the database is away, not that a statement failed."""
    if isinstance(error, InterfaceError):
        return True
    if not isinstance(error, OperationalError):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or state.startswith("08") or state in SQLSTATES


def backoff_seconds(failures: int) -> float:
    """Return how long to wait after so many failures in a row; jittered, capped at 30 s."""
    longest: float = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2 ** min(failures, 10))
    return longest * random.uniform(0.75, 1.0)  # noqa: S311 (no secret)


def persist(write: Callable[[], T], *, using: str, seconds: float) -> T:
    """
    Do a write, again while the database is away, for so many seconds at most.

    What was done outside cannot be undone: its outcome is worth waiting for, until the
    claim would be stale in any case. The write must be fenced, since an answer to COMMIT
    can be lost.
    """
    deadline = time.monotonic() + seconds
    failures = 0
    while True:
        try:
            return write()
        except (OperationalError, InterfaceError) as error:
            if time.monotonic() >= deadline or not is_outage(error):
                raise
            if connections[using].in_atomic_block:  # the caller's transaction is gone with it
                raise
            connections[using].close()
            time.sleep(min(backoff_seconds(failures), 2.0))
            failures += 1
