"""What every test may use."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from django.db import connections
from hypothesis import settings as hypothesis_settings

hypothesis_settings.register_profile("default", deadline=None, max_examples=100)
hypothesis_settings.load_profile("default")


def wait_until(condition: Callable[[], object], *, seconds: float = 20, what: str = "") -> None:
    """Poll until the condition holds; fail when it does not within the limit."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            pytest.fail(f"did not happen within {seconds} s: {what or condition}")
        time.sleep(0.02)


@pytest.fixture(autouse=True)
def _close_thread_connections() -> Iterator[None]:
    """Leave no claim and no connection of a test to the next one."""
    yield
    from jobs.claims.holdings import holdings

    for claim in holdings:
        claim.forget(*claim.rows)
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
