"""Runs by hand."""

from __future__ import annotations

import datetime as dt
import threading

import pytest
from django.db import connections

from jobs.declarations import registry
from jobs.errors import ManualRunRefusedError, UnknownJobError
from jobs.ledger import open_run
from jobs.models import JobRun, JobState
from jobs.models.run import RunStatus, Trigger
from jobs.pausing import request_cancel
from jobs.requests import close_untaken, request_run, take_requests
from jobs.testing import database_clock

JOB = "testapp.stocktaking"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _state():
    JobState.objects.create(job_id=JOB)


def take(limit=5):
    return take_requests([JOB, "testapp.parcels"], singletons=[JOB], limit=limit)


def test_a_second_request_while_one_waits_is_the_first():
    first = request_run(JOB, requested_by="anna", reason="after the fix")
    second = request_run(JOB, requested_by="ben")

    assert (first.coalesced, second.coalesced) == (False, True)
    assert second.run.pk == first.run.pk
    run = JobRun.objects.get()
    assert (run.status, run.trigger, run.requested_by, run.reason) == (
        "requested",
        "manual",
        "anna",
        "after the fix",
    )


def test_two_requests_at_once_are_one():
    barrier = threading.Barrier(4)
    found = []

    def ask():
        barrier.wait()
        found.append(request_run(JOB, requested_by="anna"))
        connections.close_all()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({item.run.pk for item in found}) == 1
    assert JobRun.objects.count() == 1


def test_a_request_is_taken_once():
    request_run(JOB, requested_by="anna")

    taken = take()

    assert [(run.job_id, run.trigger) for run in taken] == [(JOB, Trigger.MANUAL)]
    assert take() == []
    run = JobRun.objects.get()
    assert run.status == "running"
    assert run.lease_expires_at is not None


def test_a_request_waits_while_the_singleton_runs():
    run = open_run(JOB, Trigger.SCHEDULE)
    request_run(JOB, requested_by="anna")

    assert take() == []

    run.close(RunStatus.SUCCEEDED)
    assert len(take()) == 1


def test_a_request_for_a_queue_does_not_wait():
    open_run("testapp.parcels", Trigger.NOTIFY)
    request_run("testapp.parcels", requested_by="anna")

    assert len(take()) == 1


def test_a_request_that_no_worker_took_within_an_hour_is_missed():
    request_run(JOB, requested_by="anna")
    now = JobRun.objects.get().created_at

    with database_clock(now + dt.timedelta(minutes=59)):
        assert close_untaken() == 0
    with database_clock(now + dt.timedelta(minutes=61)):
        assert close_untaken() == 1

    assert JobRun.objects.get().status == "missed"
    assert request_run(JOB, requested_by="anna").coalesced is False


def test_an_unknown_job_is_refused_with_the_nearest_id():
    with pytest.raises(UnknownJobError, match=r"did you mean testapp\.stocktaking"):
        request_run("testapp.stocktakin", requested_by="anna")


def test_a_job_that_may_not_be_forced_is_refused(monkeypatch):
    declaration = registry.get(JOB)
    monkeypatch.setitem(vars(declaration), "manual_run", False)

    with pytest.raises(ManualRunRefusedError, match=JOB):
        request_run(JOB, requested_by="anna")


def test_a_waiting_request_is_cancelled_at_once():
    run = request_run(JOB, requested_by="anna").run

    assert request_cancel(run.pk)
    assert not request_cancel(run.pk)

    assert JobRun.objects.get().status == "cancelled"
    assert take() == []


def test_slots_that_catch_up_run_one_by_one_and_hold_up_no_other_job():
    hour = dt.datetime(2026, 6, 1, 12, tzinfo=dt.UTC)
    JobState.objects.create(job_id="tests.other")
    running = open_run(JOB, Trigger.CATCH_UP, slot=hour)
    JobRun.objects.bulk_create(
        JobRun(
            job_id=JOB,
            trigger="catch_up",
            status="requested",
            scheduled_for=hour + dt.timedelta(hours=number),
        )
        for number in range(1, 60)
    )
    JobRun.objects.create(job_id="tests.other", trigger="manual", status="requested")

    def take_all():
        return take_requests([JOB, "tests.other"], singletons=[JOB, "tests.other"], limit=5)

    assert [run.job_id for run in take_all()] == ["tests.other"]
    running.close(RunStatus.SUCCEEDED)
    (next_one,) = take_all()
    assert JobRun.objects.get(pk=next_one.id).scheduled_for == hour + dt.timedelta(hours=1)
    assert next_one.trigger is Trigger.CATCH_UP


def test_slots_that_catch_up_wait_for_longer_than_an_hour():
    hour = dt.datetime(2026, 6, 1, 12, tzinfo=dt.UTC)
    JobRun.objects.create(job_id=JOB, trigger="catch_up", status="requested", scheduled_for=hour)

    with database_clock(JobRun.objects.get().created_at + dt.timedelta(hours=5)):
        assert close_untaken() == 0


def test_a_request_that_was_taken_and_not_begun_is_given_back():
    request_run(JOB, requested_by="anna", reason="why")
    (run,) = take()

    assert run.give_back()

    row = JobRun.objects.get()
    assert (row.status, row.claimed_by, row.claim_token, row.started_at) == (
        "requested",
        "",
        None,
        None,
    )
    assert (row.requested_by, row.reason) == ("anna", "why")
    assert len(take()) == 1


def test_a_request_is_not_given_back_beside_a_later_one():
    request_run(JOB, requested_by="anna")
    (run,) = take()
    later = request_run(JOB, requested_by="ben").run

    assert run.give_back()

    assert JobRun.objects.get(pk=run.id).status == "cancelled"
    assert JobRun.objects.get(pk=later.pk).status == "requested"
