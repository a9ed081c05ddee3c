"""The two forms of a slow test: short in ``make test``, long with ``ENGINEROOM_FULL=1``."""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")
FULL = os.environ.get("ENGINEROOM_FULL") == "1"


def form(*, short: T, full: T) -> T:
    """Return what this run uses."""
    return full if FULL else short
