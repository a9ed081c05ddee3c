"""What tests of the admin's pages of jobs share: two jobs, and the browsers of people."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client

from jobs.cadence import Cron, Manual
from jobs.declarations import job, registry
from jobs.models import JobState
from jobs.reads.links import object_path
from tests.factories import UserFactory, give

JOBS = "/admin/jobs/jobstate/"
BERLIN = Cron("30 2 * * *", zone="Europe/Berlin")


@pytest.fixture(autouse=True)
def _jobs(db) -> Iterator[None]:
    """Declare two jobs of a shop, one of which may not be forced."""

    @job("shop.orders", cadence=BERLIN, summary="Bill the orders.", cadence_is_data=True)
    def orders(context) -> None: ...

    @job("shop.closing", cadence=Manual(), summary="Close the year.", manual_run=False)
    def closing(context) -> None: ...

    yield
    registry.remove("shop.orders")
    registry.remove("shop.closing")


def browser(*permissions: str, **options) -> Client:
    user = UserFactory(username="anna", **options)
    give(user, *permissions)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def anna() -> Client:
    """A superuser's browser."""
    return browser(is_superuser=True)


@pytest.fixture
def operator() -> Client:
    """The browser of somebody who may see jobs and use every verb on them."""
    return browser(
        "jobs.view_jobstate", "jobs.view_jobrun", "jobs.run_job", "jobs.pause_job",
        "jobs.cancel_job",
    )  # fmt: skip


@pytest.fixture
def observer() -> Client:
    """The browser of somebody who may see jobs only."""
    return browser("jobs.view_jobstate", "jobs.view_jobrun")


def page_of(job_id: str) -> str:
    return object_path(JobState, job_id)


def verb_page(job_id: str, name: str) -> str:
    return f"{JOBS}{job_id}/verb/{name}/"


def text_of(response) -> str:
    assert response.status_code == 200
    return response.content.decode()
