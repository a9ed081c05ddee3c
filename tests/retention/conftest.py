"""Old rows, and sweeps run in this process."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from django.db import connection
from django.utils import timezone

from jobs.context import RunContext
from jobs.declarations import registry
from jobs.models import JobRun
from jobs.models.run import Trigger
from jobs.testing import run_once
from retention import configuring
from retention.errors import TargetsFailedError
from retention.models import TargetConfig

Configure = Callable[..., None]


@pytest.fixture(autouse=True)
def no_pauses(settings) -> None:
    """Sweep without waiting between batches."""
    settings.RETENTION_PAUSE_MS = 0


@pytest.fixture
def configure(db) -> Configure:
    """Give targets their days, by name with an underscore for the dot."""
    configuring.add_rows()

    def set_days(*, enabled: bool = True, **days: int | None) -> None:
        for name, number in days.items():
            rows = TargetConfig.objects.filter(pk=name.replace("_", ".", 1))
            assert rows.update(days=number, enabled=enabled) == 1

    return set_days


@contextlib.contextmanager
def alerts_missing() -> Iterator[None]:
    """Take the table of alerts away. Its name is known to too much of Django to be patched."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE alerts RENAME TO elsewhere")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE elsewhere RENAME TO alerts")


def swept(job_id: str = "retention.sweep") -> JobRun:
    """Run a job as a worker does, which needs a test that commits; return its ledger row."""
    run = run_once(job_id)
    assert run is not None
    return run


def summary_of(job_id: str = "retention.sweep") -> dict[str, Any]:
    """Do what a job does; return its summary, errors of targets included."""
    context = context_of(job_id)
    try:
        output = context.declaration.run_once(context)
    except TargetsFailedError as error:
        output = error.output
    return cast("dict[str, Any]", output)


def context_of(job_id: str = "retention.sweep") -> RunContext:
    return RunContext(declaration=registry.get(job_id), trigger=Trigger.SCHEDULE)


def days_ago(days: float) -> dt.datetime:
    return timezone.now() - dt.timedelta(days=days)
