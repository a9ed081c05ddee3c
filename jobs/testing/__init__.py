"""For the tests of a project that uses Engineroom: parts that need no real time."""

from __future__ import annotations

from jobs.testing.schedulers import FakeIntervalScheduler, FakeScheduler, FakeTask

__all__ = ["FakeIntervalScheduler", "FakeScheduler", "FakeTask"]
