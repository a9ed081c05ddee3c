"""Rows of bucket deletions."""

from __future__ import annotations

import datetime as dt
import uuid

import factory
from django.utils import timezone

from deletions.models import BucketDeletionJob

STUCK = {"key": "photos/2026/held.jpg", "code": "AccessDenied", "message": "the object is locked"}


class BucketDeletionJobFactory(factory.django.DjangoModelFactory):
    """A job that waits; traits for its other states."""

    class Meta:
        model = BucketDeletionJob

    class Params:
        counted = factory.Trait(total_objects=20_000, deleted_objects=4_200)
        processing = factory.Trait(
            counted=True,
            status="processing",
            attempts=0,
            claimed_at=factory.LazyFunction(timezone.now),
            begun_at=factory.LazyFunction(timezone.now),
            claimed_by="web-1:4121:a1b2c3",
            claim_token=factory.LazyFunction(uuid.uuid4),
            lease_expires_at=factory.LazyFunction(lambda: timezone.now() + dt.timedelta(minutes=1)),
            deleted_before=200,
            emptying_since=factory.LazyFunction(lambda: timezone.now() - dt.timedelta(seconds=4)),
            progressed_at=factory.LazyFunction(timezone.now),
        )
        retrying = factory.Trait(
            counted=True,
            status="failed",
            attempts=1,
            failed_keys=[STUCK],
            failed_objects=1,
            last_error="1 key was not deleted; the first is 'photos/2026/held.jpg', AccessDenied",
            next_retry_at=factory.LazyFunction(lambda: timezone.now() + dt.timedelta(minutes=2)),
        )
        abandoned = factory.Trait(
            counted=True,
            status="abandoned",
            attempts=8,
            failed_keys=[STUCK],
            failed_objects=1,
            last_error="1 key was not deleted; the first is 'photos/2026/held.jpg', AccessDenied",
            abandoned_at=factory.LazyFunction(lambda: timezone.now() - dt.timedelta(hours=2)),
        )
        done = factory.Trait(
            status="done",
            phase="bucket",
            total_objects=20_000,
            deleted_objects=20_000,
            done_at=factory.LazyFunction(timezone.now),
        )
        cancelled = factory.Trait(counted=True, status="cancelled")

    bucket_name = factory.Sequence(lambda number: f"tenant-{number}")
    endpoint = "s3://store.example/"
    requested_by = "anna"
