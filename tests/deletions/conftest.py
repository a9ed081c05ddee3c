"""Deletions worked on in this process, and a fleet of workers that can be killed."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.db import connection

from deletions.models import UserDeletion, UserDeletionStep
from jobs.context import RunContext
from jobs.declarations import registry
from jobs.models.run import Trigger
from jobs.runner import PassRunner
from jobs.stopping import StopSignal
from tests.crash.harness import Fleet, url_of
from tests.deletions.billing_server import SECRET, BillingServer
from tests.factories import UserFactory

Work = Callable[[], Counter[str]]
JOB = "deletions.users"


@pytest.fixture(autouse=True)
def backup_dir(settings, tmp_path) -> Path:
    """Where finished deletions are written."""
    settings.BACKUP_DIR = str(tmp_path / "backups")
    return tmp_path / "backups"


@pytest.fixture
def work(transactional_db) -> Work:
    """Run one pass, as a worker would; returns what it counted."""

    def run(*, stop: StopSignal | None = None) -> Counter[str]:
        context = RunContext(
            declaration=registry.get(JOB), trigger=Trigger.SCHEDULE, stop=stop or StopSignal()
        )
        PassRunner(context.declaration).run(context)
        return context.counts

    return run


@pytest.fixture
def retry_now(settings) -> None:
    """Let what has failed be due again at once."""
    settings.RETRY_BACKOFF_MS = (1,)


@pytest.fixture
def billing(settings) -> Iterator[BillingServer]:
    """A billing service that the site is set up for."""
    with BillingServer() as server:
        settings.BILLING_URL = server.url
        settings.BILLING_SECRET = SECRET
        yield server


@pytest.fixture
def user(db):
    return UserFactory(username="ben", email="ben@example.com")


@pytest.fixture
def make_fleet(transactional_db, tmp_path) -> Iterator[Callable[..., Fleet]]:
    """Make fleets on the test database; they end before its tables are emptied."""
    with contextlib.ExitStack() as stack:

        def make(**environment: str) -> Fleet:
            options = {"DJANGO_SETTINGS_MODULE": "tests.deletions.site"} | environment
            url = url_of(connection.settings_dict)
            return stack.enter_context(Fleet(tmp_path, database_url=url, **options))

        yield make


def steps_of(deletion: UserDeletion) -> dict[str, str]:
    """Return the state of each step."""
    rows = UserDeletionStep.objects.filter(deletion_id=deletion.pk)
    return dict(rows.values_list("name", "state"))


def step_of(deletion: UserDeletion, name: str) -> UserDeletionStep:
    return UserDeletionStep.objects.get(deletion_id=deletion.pk, name=name)


def is_gone(user) -> bool:
    return not get_user_model().objects.filter(pk=user.pk).exists()
