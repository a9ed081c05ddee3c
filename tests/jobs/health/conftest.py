"""What tests of health share: a process by a clock that is set."""

from __future__ import annotations

import pytest

from jobs.health.state import ProcessHealth


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def process(clock):
    return ProcessHealth(clock=clock)
