"""Runs of singletons in real workers: by hand, cancelled, killed, interrupted."""

from __future__ import annotations

import datetime as dt
import json
import signal
import time

import pytest
from django.db import connection

from jobs import notifier
from jobs.models import JobRun, JobState, Worker
from jobs.requests import request_run
from tests.conftest import wait_until
from tests.crash.harness import Fleet, url_of
from tests.crash.slots import anchored, far_from_now, move_back, statuses
from tests.forms import FULL
from tests.testapp.models import Delivery

WATCHFUL, DEAF, SHORT = "scheduled.watchful", "scheduled.deaf", "scheduled.short"
GRACE_SECONDS = 2


def environment():
    cadence = far_from_now()
    jobs = [
        {"id": WATCHFUL, "cadence": cadence, "work": "watch"},
        {"id": DEAF, "cadence": cadence, "work": "sleep"},
        {"id": SHORT, "cadence": cadence, "work": "note"},
    ]
    # Only a NOTIFY can wake a worker that looks by itself so rarely.
    return {"SCHEDULED": json.dumps(jobs), "LOOK_SECONDS": "600"}


@pytest.fixture(scope="module")
def patient(django_db_setup, tmp_path_factory):
    url = url_of(connection.settings_dict)
    grace = {"WORKER_SHUTDOWN_GRACE_MS": "600000"}
    with Fleet(
        tmp_path_factory.mktemp("patient"), database_url=url, **environment(), **grace
    ) as fleet:
        yield fleet


@pytest.fixture
def fleet(patient, transactional_db):
    """Workers that stop when their work has ended."""
    yield patient
    notifier.close()
    patient.kill_all()


def run_of(job_id):
    return JobRun.objects.filter(job_id=job_id).latest("id")


def at_work(*job_ids):
    return all(Delivery.objects.filter(queue=job_id).exists() for job_id in job_ids)


def begin(fleet, *job_ids):
    """Start a worker that is at work on requests for these jobs."""
    worker = fleet.start("--only", *job_ids)
    for job_id in job_ids:
        assert fleet.run("jobs", "run", job_id).wait() == 0
    wait_until(lambda: at_work(*job_ids))
    return worker


@pytest.mark.timeout(120)
def test_a_request_from_another_process_wakes_the_worker_by_notify(fleet, figures):
    worker = fleet.start("--only", "testapp.stocktaking")
    wait_until(lambda: Worker.objects.filter(listen="listening").exists())
    wait_until(lambda: JobState.objects.filter(pk="testapp.stocktaking").exists())
    took = []

    for _ in range(5):
        asked = time.monotonic()
        run = request_run("testapp.stocktaking", requested_by="anna").run
        wait_until(lambda run=run: JobRun.objects.filter(pk=run.pk, status="succeeded").exists())
        took.append(time.monotonic() - asked)

    figures(request_to_end_ms=[round(seconds * 1000) for seconds in took])
    assert worker.stop() == 0


@pytest.mark.timeout(120)
def test_the_command_wakes_the_worker_and_follows_the_run_to_its_end(fleet):
    worker = fleet.start("--only", SHORT)
    wait_until(lambda: Worker.objects.filter(listen="listening").exists())

    command = fleet.run("jobs", "run", SHORT, "--wait", "--reason", "a look")

    assert command.wait() == 0, command.output()
    run = JobRun.objects.get()
    assert (run.trigger, run.status, run.reason) == ("manual", "succeeded", "a look")
    assert worker.stop() == 0


@pytest.mark.timeout(120)
def test_a_running_singleton_is_cancelled_from_another_process(fleet, figures):
    worker = begin(fleet, WATCHFUL)
    wait_until(lambda: run_of(WATCHFUL).progress_done == 1)
    asked = time.monotonic()

    assert fleet.run("jobs", "cancel", WATCHFUL, "--yes").wait() == 0

    wait_until(lambda: run_of(WATCHFUL).status == "cancelled")
    figures(cancel_seconds=round(time.monotonic() - asked, 2))
    assert run_of(WATCHFUL).output == {"slot": 0}
    assert worker.code is None
    assert worker.stop() == 0


@pytest.mark.timeout(120)
def test_a_run_whose_worker_was_killed_is_lost_and_its_slot_is_not_run_again(fleet, figures):
    killed = fleet.start("--only", DEAF)
    wait_until(lambda: anchored(DEAF))
    move_back(dt.timedelta(hours=1), DEAF)
    notifier.poke("job_states")
    wait_until(lambda: at_work(DEAF))
    other = fleet.start("--only", DEAF)
    other.await_start()

    killed.kill()
    died = time.monotonic()

    wait_until(lambda: run_of(DEAF).status == "lost")
    figures(lease_seconds=3, lost_after=round(time.monotonic() - died, 1))
    assert other.lines(f"run_lost job={DEAF}")
    assert fleet.run("runworkers", "--once", "--only", DEAF).wait() == 0
    assert Delivery.objects.filter(queue=DEAF).count() == 1
    assert statuses(DEAF) == ["lost"]
    assert other.stop() == 0


@pytest.mark.timeout(120)
def test_a_stop_waits_for_the_run_that_looks_and_interrupts_the_one_that_does_not(
    make_fleet, figures
):
    grace = {"WORKER_SHUTDOWN_GRACE_MS": str(GRACE_SECONDS * 1000)}
    fleet = make_fleet(**environment(), **grace)
    worker = begin(fleet, WATCHFUL, DEAF)

    asked = time.monotonic()
    code = worker.stop()
    took = time.monotonic() - asked

    figures(grace_seconds=GRACE_SECONDS, stopped_after=round(took, 2))
    assert code == 0
    assert took < GRACE_SECONDS + (5 if FULL else 15)
    assert run_of(WATCHFUL).status == "succeeded"
    run = run_of(DEAF)
    assert (run.status, run.lease_expires_at) == ("interrupted", None)
    assert run.error == "A shutdown ended this run before it was done."
    assert worker.lines(f"interrupted job={DEAF}")


@pytest.mark.timeout(120)
def test_a_stop_with_only_runs_that_look_does_not_wait_for_the_grace(fleet):
    worker = begin(fleet, WATCHFUL)

    worker.send(signal.SIGTERM)

    assert worker.wait() == 0
    assert run_of(WATCHFUL).status == "succeeded"


@pytest.mark.timeout(120)
def test_a_second_ctrl_c_ends_the_process_though_a_singleton_goes_on(fleet):
    worker = begin(fleet, DEAF)
    worker.send(signal.SIGINT)
    worker.await_output("Stopping")
    assert worker.code is None

    worker.send(signal.SIGINT)

    assert worker.wait(seconds=20) == 1
    other = fleet.start("--only", SHORT)
    wait_until(lambda: run_of(DEAF).status == "lost")
    assert other.stop() == 0
