"""Pausing, resuming and cancelling, as an operator does it."""

from __future__ import annotations

import datetime as dt

import pytest

from jobs.cadence import Cron
from jobs.declarations import JobDeclaration
from jobs.ledger import open_run, open_runs
from jobs.models import JobRun, JobState
from jobs.models.run import RunStatus, Trigger
from jobs.pausing import pause, request_cancel, resume
from jobs.requests import request_run, take_requests
from jobs.schedule import anchor, due_jobs, fire
from jobs.slots import RunAll
from jobs.testing import database_clock

NOON = dt.datetime(2026, 6, 1, 12, 0, 30, tzinfo=dt.UTC)
JOB = "testapp.stocktaking"
pytestmark = pytest.mark.django_db(transaction=True)


def hourly(**options):
    return JobDeclaration(
        id=JOB,
        summary="Sweep.",
        run_once=lambda context: None,
        owner_file="tests",
        read_cadence=lambda: Cron("0 * * * *"),
        **options,
    )


def test_who_paused_a_job_and_why_is_kept_until_it_is_resumed():
    assert pause(JOB, actor="anna", reason="migration")
    assert not pause(JOB, actor="ben", reason="again")

    state = JobState.objects.get()
    assert (state.paused_by, state.pause_reason) == ("anna", "migration")
    assert state.paused_at is not None
    assert resume(hourly())
    state = JobState.objects.get()
    assert (state.paused_at, state.paused_by, state.pause_reason) == (None, "", "")


def test_a_pause_stays_when_the_cadence_is_edited_meanwhile():
    with database_clock(NOON) as clock:
        pause(JOB, actor="anna", reason="")
        anchor(hourly())
        clock.advance(hours=2)

        assert due_jobs([JOB]) == []
        assert fire(hourly()) is None


def test_slots_that_waited_to_catch_up_are_missed_when_the_job_is_paused():
    job = hourly(missed=RunAll(at_most=3))
    with database_clock(NOON) as clock:
        anchor(job)
        clock.advance(hours=3)
        first = fire(job)
        pause(JOB, actor="anna", reason="")
        first.close(RunStatus.SUCCEEDED)

        assert take_requests([JOB], singletons=[JOB], limit=5) == []
        clock.advance(days=3)
        resume(job)
        assert take_requests([JOB], singletons=[JOB], limit=5) == []
        assert due_jobs([JOB]) == []

    statuses = JobRun.objects.order_by("scheduled_for").values_list("status", flat=True)
    assert list(statuses) == ["succeeded", "missed", "missed"]


def test_a_paused_job_still_runs_by_hand():
    JobState.objects.create(job_id=JOB)
    pause(JOB, actor="anna", reason="")
    request_run(JOB, requested_by="ben")

    assert len(take_requests([JOB], singletons=[JOB], limit=5)) == 1


def test_the_holder_of_a_run_hears_that_it_is_to_end_at_its_next_heartbeat():
    run = open_run(JOB, Trigger.SCHEDULE)
    asked = []
    run.cancel = lambda: asked.append(run.id)
    open_runs.heartbeat()
    assert asked == []

    assert request_cancel(run.id)
    assert not request_cancel(run.id)
    open_runs.heartbeat()

    assert asked == [run.id]
    run.close(RunStatus.CANCELLED)


def test_a_run_that_has_ended_cannot_be_cancelled():
    run = open_run(JOB, Trigger.SCHEDULE)
    run.close(RunStatus.SUCCEEDED)

    assert not request_cancel(run.id)
    assert JobRun.objects.get().status == "succeeded"
