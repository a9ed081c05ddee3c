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

    assert [(item.run.job_id, item.trigger) for item in taken] == [(JOB, Trigger.MANUAL)]
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
