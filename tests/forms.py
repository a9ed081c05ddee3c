"""The two forms of a slow test: short in ``make test``, long with ``ENGINEROOM_FULL=1``."""

from __future__ import annotations

import os
from typing import TypeVar

import pytest

T = TypeVar("T")
FULL = os.environ.get("ENGINEROOM_FULL") == "1"
only_in_full = pytest.mark.skipif(not FULL, reason="takes long: ENGINEROOM_FULL=1 runs it")


def form(*, short: T, full: T) -> T:
    """Return what this run uses."""
    return full if FULL else short
