"""Buckets on real stores, emptied in this process as a worker would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from deletions.models import BucketDeletionJob
from jobs.context import RunContext
from jobs.declarations import registry
from jobs.models.run import Trigger
from jobs.objectstore import ObjectStore, open_store
from jobs.runner import PassRunner
from jobs.stopping import StopSignal

JOB = "deletions.buckets"
Empty = Callable[..., Counter[str]]


@pytest.fixture
def empty(transactional_db) -> Empty:
    """Run one pass, as a worker would; returns what it counted."""

    def run(*, stop: StopSignal | None = None) -> Counter[str]:
        context = RunContext(
            declaration=registry.get(JOB), trigger=Trigger.SCHEDULE, stop=stop or StopSignal()
        )
        PassRunner(context.declaration).run(context)
        return context.counts

    return run


@pytest.fixture
def retry(empty) -> Empty:
    """Let what has failed be due, and run one pass."""

    def run() -> Counter[str]:
        BucketDeletionJob.objects.filter(status="failed").update(
            next_retry_at="2020-01-01T00:00:00Z"
        )
        return empty()

    return run


@pytest.fixture
def files(settings, tmp_path) -> ObjectStore:
    """The file system as the site's object store."""
    settings.OBJECT_STORE_URL = (tmp_path / "objects").as_uri()
    return open_store()


@pytest.fixture
def on_rclone(settings, rclone) -> ObjectStore:
    """An ``rclone serve s3`` as the site's object store."""
    settings.OBJECT_STORE_URL = rclone.endpoint
    return open_store()


@pytest.fixture
def on_swift(settings, swift) -> ObjectStore:
    """An OpenStack Swift as the site's object store."""
    settings.OBJECT_STORE_URL = swift.endpoint
    return open_store()
