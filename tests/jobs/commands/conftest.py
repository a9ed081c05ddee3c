"""What tests of the command ``jobs`` share: a job, and a run of it that has failed."""

from __future__ import annotations

import datetime as dt

import pytest

from jobs.cadence import Cron
from jobs.models import JobRun, JobState
from jobs.testing import database_clock
from tests.factories import JobRunFactory
from tests.jobs.alerting import ORDERS, declared, only_declared

JOB = "testapp.stocktaking"
NOW = dt.datetime(2026, 10, 23, 12, tzinfo=dt.UTC)
# In the night of the second next run the clocks go back.
NIGHTLY = Cron("30 2 * * *", zone="Europe/Berlin")


@pytest.fixture
def orders():
    """A nightly job of its own that failed last night, at a time that stands still."""
    with only_declared(), declared(cadence=NIGHTLY), database_clock(NOW):
        JobState.objects.create(
            job_id=ORDERS,
            cadence="any",
            first_seen_at=NOW - dt.timedelta(days=9),
            accounted_until=NOW - dt.timedelta(hours=12),
            next_due_at=dt.datetime(2026, 10, 24, 0, 30, tzinfo=dt.UTC),
        )
        yield ORDERS


@pytest.fixture
def failed_run(orders) -> JobRun:
    at = NOW - dt.timedelta(hours=11, minutes=30)
    return JobRunFactory(
        id=48121,
        job_id=ORDERS,
        failed=True,
        scheduled_for=at,
        created_at=at,
        started_at=at,
        finished_at=at + dt.timedelta(seconds=7.5),
    )
