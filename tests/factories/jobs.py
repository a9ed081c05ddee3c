"""Rows of the engine's tables."""

from __future__ import annotations

import datetime as dt

import factory
from django.utils import timezone

from jobs.models import ActivityLog, Alert, AuditLog, JobRun, JobState, Worker


class JobRunFactory(factory.django.DjangoModelFactory):
    """A run that succeeded in 0.4 s."""

    class Meta:
        model = JobRun

    class Params:
        failed = factory.Trait(
            status="failed",
            error='ValueError: no such mail\n  File "shop/jobs.py", line 12, in run_once\n',
        )
        running = factory.Trait(
            status="running",
            finished_at=None,
            lease_expires_at=factory.LazyFunction(lambda: timezone.now() + dt.timedelta(minutes=1)),
        )

    job_id = "emails.processor"
    trigger = "schedule"
    status = "succeeded"
    started_at = factory.LazyFunction(lambda: timezone.now() - dt.timedelta(minutes=3))
    finished_at = factory.LazyAttribute(
        lambda run: run.started_at and run.started_at + dt.timedelta(seconds=0.4)
    )
    claimed_by = "web-1:4121:a1b2c3"


class JobStateFactory(factory.django.DjangoModelFactory):
    """A job that a worker has taken up."""

    class Meta:
        model = JobState

    job_id = "emails.processor"
    last_tick_at = factory.LazyFunction(timezone.now)


class AlertFactory(factory.django.DjangoModelFactory):
    """An open alert about a job that failed three times."""

    class Meta:
        model = Alert

    rule = "consecutive_failures"
    subject = "emails.processor"
    detail = "3 scheduled runs in a row failed; no good one is known"


class ActivityLogFactory(factory.django.DjangoModelFactory):
    """A line that informs."""

    class Meta:
        model = ActivityLog

    source = "job"
    level = "info"
    message = "swept 12 rows"


class WorkerFactory(factory.django.DjangoModelFactory):
    """A process that is alive."""

    class Meta:
        model = Worker

    name = factory.Sequence(lambda n: f"web-1:{4000 + n}:a1b2c3")
    host = "web-1"
    pid = factory.Sequence(lambda n: 4000 + n)
    version = "0.1.0"
    listen = "listening"
    claim_stale_ms = 300_000
    loops = factory.LazyFunction(
        lambda: {"emails.processor": {"ticked_at": timezone.now().isoformat(), "state": "waiting"}}
    )


class AuditLogFactory(factory.django.DjangoModelFactory):
    """A retry of one mail."""

    class Meta:
        model = AuditLog

    actor = "anna"
    via = "admin"
    verb = "retry"
    target = "email_jobs 17"
    reason = "the server is back"
