"""The end of a process in the middle of a sweep."""

from __future__ import annotations

import json
import signal

import pytest
from django.contrib.sessions.models import Session
from django.db import connection

from jobs.models import JobRun
from tests.conftest import wait_until
from tests.crash.harness import LIMIT_SECONDS, Fleet, url_of
from tests.retention.conftest import days_ago

pytestmark = [pytest.mark.crash, pytest.mark.timeout(120)]
ROWS, BATCH = 400, 10


@pytest.fixture(scope="module")
def slow_fleet(django_db_setup, tmp_path_factory):
    """Workers that take two seconds for it: forty batches, with a pause after each."""
    directory, url = tmp_path_factory.mktemp("slow"), url_of(connection.settings_dict)
    settings = {"RETENTION_BATCH": f"{BATCH}", "RETENTION_PAUSE_MS": "50"}
    with Fleet(directory, database_url=url, **settings) as fleet:
        yield fleet


@pytest.fixture
def fleet(slow_fleet, transactional_db):
    Session.objects.bulk_create(
        Session(session_key=f"{place}", expire_date=days_ago(1)) for place in range(ROWS)
    )
    yield slow_fleet
    slow_fleet.kill_all()


def half_way() -> bool:
    return Session.objects.count() < ROWS - 3 * BATCH


def test_a_worker_ends_after_its_batch_and_the_next_run_sweeps_the_rest(fleet):
    worker = fleet.start("--only", "retention.sessions")
    worker.await_start()
    assert fleet.run("jobs", "run", "retention.sessions").wait() == 0
    wait_until(half_way, seconds=LIMIT_SECONDS)

    code = worker.stop()

    left = Session.objects.count()
    first = JobRun.objects.get(job_id="retention.sessions", trigger="manual")
    entry = first.output["sessions"]
    assert code == 0
    assert 0 < left < ROWS
    assert (first.status, entry["deleted"], entry["truncated"]) == ("succeeded", ROWS - left, True)
    assert entry["deleted"] == entry["batches"] * BATCH
    assert set(first.output) > {"sessions", "signin.attempts"}

    again = fleet.run("retention", "run", "--yes", "--json", "--target", "sessions")

    assert again.wait() == 0
    (item,) = json.loads(again.output().splitlines()[-1])["items"]
    assert (item["deleted"], item["truncated"]) == (left, False)
    assert not Session.objects.exists()


def test_the_command_ends_after_its_batch_too(fleet):
    command = fleet.run("retention", "run", "--yes", "--json", "--target", "sessions")
    wait_until(half_way, seconds=LIMIT_SECONDS)

    command.send(signal.SIGTERM)

    assert command.wait() == 0
    entry = JobRun.objects.get().output["sessions"]
    assert entry["deleted"] == ROWS - Session.objects.count() < ROWS
    assert entry["truncated"] is True
