"""Slots: one run each, over all replicas, and every one accounted for."""

from __future__ import annotations

import datetime as dt
import threading

import pytest
from django.db import IntegrityError, connections, transaction

from jobs import schedule
from jobs.cadence import Cron, Every
from jobs.declarations import JobDeclaration
from jobs.ledger import close_lost, open_runs
from jobs.models import JobRun, JobState
from jobs.models.run import RunStatus
from jobs.pausing import pause, resume
from jobs.slots import RunAll, RunLatest, Skip
from jobs.testing import database_clock

NOON = dt.datetime(2026, 6, 1, 12, 0, 30, tzinfo=dt.UTC)
HOURLY = Cron("0 * * * *")

pytestmark = pytest.mark.django_db(transaction=True)


def declare(cadence=HOURLY, **options):
    return JobDeclaration(
        id="tests.sweep",
        summary="Sweep.",
        run_once=lambda context: None,
        owner_file="tests",
        read_cadence=lambda: cadence,
        **options,
    )


def finish(run):
    run.close(RunStatus.SUCCEEDED)


def ledger():
    return list(
        JobRun.objects.order_by("scheduled_for").values_list(
            "scheduled_for", "trigger", "status", "count"
        )
    )


def test_a_job_just_declared_runs_no_slot_of_the_past():
    job = declare()

    with database_clock(NOON):
        schedule.anchor(job)
        assert schedule.due_jobs([job.id]) == []
        assert schedule.fire(job) is None

    assert JobState.objects.get().next_due_at == dt.datetime(2026, 6, 1, 13, tzinfo=dt.UTC)


def test_a_due_slot_runs_once_and_the_next_due_is_kept():
    job = declare()
    with database_clock(NOON) as clock:
        schedule.anchor(job)
        clock.advance(hours=1)
        assert schedule.due_jobs([job.id]) == [job.id]

        run = schedule.fire(job)

        assert run is not None
        assert schedule.fire(job) is None
        assert schedule.due_jobs([job.id]) == []
    slot = dt.datetime(2026, 6, 1, 13, tzinfo=dt.UTC)
    assert ledger() == [(slot, "schedule", "running", 1)]
    assert JobState.objects.get().next_due_at == slot + dt.timedelta(hours=1)


def test_anchoring_again_with_the_same_cadence_keeps_the_next_due():
    job = declare()
    with database_clock(NOON) as clock:
        schedule.anchor(job)
        clock.advance(hours=3)
        schedule.anchor(job)

        assert schedule.due_jobs([job.id]) == [job.id]


def test_an_edited_cadence_anchors_on_now():
    with database_clock(NOON) as clock:
        schedule.anchor(declare())
        clock.advance(hours=3)
        job = declare(Cron("30 * * * *"))
        schedule.anchor(job)

        assert schedule.due_jobs([job.id]) == []
    assert JobState.objects.get().next_due_at == dt.datetime(2026, 6, 1, 15, 30, tzinfo=dt.UTC)


def test_after_a_day_down_an_hourly_job_runs_once_for_the_latest_slot():
    job = declare(missed=RunLatest())
    with database_clock(NOON) as clock:
        schedule.anchor(job)
        clock.advance(days=1)
        run = schedule.fire(job)
        finish(run)

    day = dt.datetime(2026, 6, 2, tzinfo=dt.UTC)
    assert ledger() == [
        (day.replace(hour=11), "catch_up", "missed", 23),
        (day.replace(hour=12), "schedule", "succeeded", 1),
    ]


def test_after_a_day_down_skip_makes_up_for_nothing():
    job = declare(missed=Skip())
    with database_clock(NOON) as clock:
        schedule.anchor(job)
        clock.advance(days=1, minutes=40)

        assert schedule.fire(job) is None

    assert [(status, count) for _, _, status, count in ledger()] == [("missed", 24)]


def test_after_a_day_down_run_all_runs_the_latest_in_order_and_accounts_for_the_rest():
    job = declare(missed=RunAll(at_most=3))
    with database_clock(NOON) as clock:
        schedule.anchor(job)
        clock.advance(days=1)
        first = schedule.fire(job)
        assert first is not None

    states = [(slot.hour, status, count) for slot, _, status, count in ledger()]
    assert states == [
        (9, "missed", 21),
        (10, "running", 1),
        (11, "requested", 1),
        (12, "requested", 1),
    ]
    assert sum(count for *_, count in ledger()) == 24


def test_the_slots_of_a_job_that_still_runs_are_recorded_as_skipped():
    job = declare()
    with database_clock(NOON) as clock:
        schedule.anchor(job)
        clock.advance(hours=1)
        run = schedule.fire(job)
        clock.advance(hours=1)
        JobRun.objects.update(lease_expires_at=clock.at + dt.timedelta(minutes=1))

        assert schedule.fire(job) is None
        finish(run)

    assert [status for _, _, status, _ in ledger()] == ["succeeded", "skipped"]


def test_a_run_whose_lease_ran_out_is_lost_and_its_slot_does_not_run_again():
    job = declare()
    with database_clock(NOON) as clock:
        schedule.anchor(job)
        clock.advance(hours=1)
        run = schedule.fire(job)
        clock.advance(minutes=5)

        assert [lost.pk for lost in close_lost()] == [run.id]
        assert schedule.fire(job) is None
        assert run.close(RunStatus.SUCCEEDED) is False

    assert [status for _, _, status, _ in ledger()] == ["lost"]


def test_a_fault_before_commit_leaves_the_slot_to_the_next_try(monkeypatch):
    job = declare()
    with database_clock(NOON) as clock:
        schedule.anchor(job)
        clock.advance(hours=1)
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            schedule.fire(job)
            raise ZeroDivisionError
        open_runs.runs.clear()

        assert JobRun.objects.count() == 0
        assert schedule.fire(job) is not None


def test_a_slot_cannot_have_two_runs():
    slot = NOON
    JobRun.objects.create(job_id="a.b", trigger="schedule", status="missed", scheduled_for=slot)

    with pytest.raises(IntegrityError):
        JobRun.objects.create(job_id="a.b", trigger="schedule", status="missed", scheduled_for=slot)


def test_five_workers_at_once_fire_a_slot_once():
    job = declare()
    runs: list[object] = []
    with database_clock(NOON) as clock:
        schedule.anchor(job)
        clock.advance(hours=1)
        barrier = threading.Barrier(5)

        def fire():
            barrier.wait()
            runs.append(schedule.fire(job))
            connections.close_all()

        threads = [threading.Thread(target=fire) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len([run for run in runs if run is not None]) == 1
    assert JobRun.objects.count() == 1


def test_deploying_every_hour_for_three_days_runs_a_daily_job_three_times():
    job = declare(Cron("0 3 * * *"))
    with database_clock(NOON) as clock:
        schedule.anchor(job)
        for _ in range(72):
            clock.advance(hours=1)
            schedule.anchor(job)
            for _ in schedule.due_jobs([job.id]):
                finish(schedule.fire(job))

    assert JobRun.objects.filter(status="succeeded").count() == 3


def test_nothing_fires_at_once_after_a_pause_of_three_days():
    job = declare()
    with database_clock(NOON) as clock:
        schedule.anchor(job)
        assert pause(job.id, actor="anna", reason="migration")
        assert not pause(job.id, actor="anna", reason="again")
        clock.advance(days=3)
        assert schedule.due_jobs([job.id]) == []
        assert schedule.fire(job) is None

        assert resume(job)
        assert not resume(job)

        assert schedule.due_jobs([job.id]) == []
        clock.advance(hours=1)
        assert schedule.due_jobs([job.id]) == [job.id]
    assert JobRun.objects.count() == 0


def test_a_clock_of_the_application_that_is_off_changes_nothing(monkeypatch):
    job = declare(Every(seconds=3600))
    schedule.anchor(job)
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOON - dt.timedelta(days=1))

    assert schedule.due_jobs([job.id]) == []
    assert schedule.fire(job) is None


def test_a_restart_inside_the_hour_that_comes_twice_does_not_run_its_slot_twice():
    job = declare(Cron("30 2 * * *", zone="Europe/Berlin"))
    before = dt.datetime(2026, 10, 24, 22, 0, tzinfo=dt.UTC)  # midnight of the autumn day
    with database_clock(before) as clock:
        schedule.anchor(job)
        # A deploy every ten minutes, from before the overlap until after it.
        for _ in range(24):
            clock.advance(minutes=10)
            schedule.anchor(job)
            for _ in schedule.due_jobs([job.id]):
                finish(schedule.fire(job))

    assert [(slot.hour, slot.minute, status) for slot, _, status, _ in ledger()] == [
        (0, 30, "succeeded")  # 02:30 of summer time; 01:30 UTC is 02:30 again
    ]
    assert JobState.objects.get().next_due_at == dt.datetime(2026, 10, 26, 1, 30, tzinfo=dt.UTC)


def test_a_wildcard_runs_at_each_real_instant_of_the_hour_that_comes_twice():
    job = declare(Cron("*/30 2 * * *", zone="Europe/Berlin"))
    with database_clock(dt.datetime(2026, 10, 24, 22, 0, tzinfo=dt.UTC)) as clock:
        schedule.anchor(job)
        for _ in range(24):
            clock.advance(minutes=10)
            schedule.anchor(job)
            for _ in schedule.due_jobs([job.id]):
                finish(schedule.fire(job))

    assert [(slot.hour, slot.minute) for slot, *_ in ledger()] == [(0, 0), (0, 30), (1, 0), (1, 30)]


def test_a_worker_of_the_code_before_leaves_the_slots_of_an_edited_cadence_alone():
    old, new = declare(Cron("0 4 * * 0")), declare(HOURLY)
    with database_clock(NOON) as clock:
        schedule.anchor(old)
        schedule.anchor(new)
        clock.advance(hours=1)

        assert schedule.fire(old) is None

        assert JobState.objects.get().next_due_at == dt.datetime(2026, 6, 1, 13, tzinfo=dt.UTC)
        assert schedule.fire(new) is not None
