"""For the tests of a project that uses Engineroom: parts that need no real time."""

from __future__ import annotations

from jobs.testing.clock import DatabaseClock, database_clock
from jobs.testing.mail import assert_mail_queued
from jobs.testing.running import drain, run_once
from jobs.testing.schedulers import FakeIntervalScheduler, FakeScheduler, FakeTask

__all__ = [
    "DatabaseClock",
    "FakeIntervalScheduler",
    "FakeScheduler",
    "FakeTask",
    "assert_mail_queued",
    "database_clock",
    "drain",
    "run_once",
]
