"""``runworkers --once`` and ``--drain``, in the calling thread."""

from __future__ import annotations

import datetime as dt
import signal

import pytest

from jobs.cadence import Cron, Manual
from jobs.declarations import JobDeclaration, registry
from jobs.models import JobRun
from jobs.pausing import pause
from jobs.requests import request_run
from jobs.slots import RunAll
from jobs.testing import database_clock
from jobs.workers.single import SinglePasses
from tests.testapp.models import Parcel

NOON = dt.datetime(2026, 6, 1, 12, 0, 30, tzinfo=dt.UTC)
STOCKTAKING, PARCELS = "testapp.stocktaking", "testapp.parcels"
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_signals")]


@pytest.fixture
def _signals():
    """Leave the signals of the test runner as they were."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


def declare(run_once=lambda context: None, **options):
    cadence = options.pop("cadence", Cron("0 * * * *"))
    return JobDeclaration(
        id=STOCKTAKING,
        summary="Count.",
        run_once=run_once,
        owner_file="tests",
        read_cadence=cadence if callable(cadence) else lambda: cadence,
        **options,
    )


def once(*jobs):
    said = []
    code = SinglePasses(jobs, say=said.append).once()
    return code, said


def statuses():
    return list(JobRun.objects.order_by("id").values_list("trigger", "status"))


def test_a_singleton_runs_once_when_its_slot_is_due_and_not_before():
    with database_clock(NOON) as clock:
        assert once(declare()) == (0, [])
        clock.advance(hours=1)
        assert once(declare()) == (0, [f"{STOCKTAKING}: succeeded"])
        assert once(declare()) == (0, [])

    assert statuses() == [("schedule", "succeeded")]


def test_slots_that_catch_up_run_one_after_the_other():
    with database_clock(NOON) as clock:
        once(declare(missed=RunAll(at_most=3)))
        clock.advance(hours=3)
        once(declare(missed=RunAll(at_most=3)))

    assert [status for _, status in statuses()] == ["succeeded"] * 3


def test_what_was_asked_for_by_hand_runs_too():
    once(declare(cadence=Manual()))
    request_run(STOCKTAKING, requested_by="anna")
    request_run(PARCELS, requested_by="anna")

    once(declare(cadence=Manual()), registry.get(PARCELS))

    assert statuses() == [("manual", "succeeded"), ("manual", "succeeded")]


def test_a_queue_that_is_paused_is_left_alone_and_ends_no_drain():
    Parcel.objects.create(address="a")
    pause(PARCELS, actor="anna", reason="")

    assert once(registry.get(PARCELS)) == (0, [])
    assert SinglePasses([registry.get(PARCELS)], say=lambda _: None).drain() == 0

    assert Parcel.objects.get().status == "pending"


def test_a_drain_works_until_nothing_is_due():
    Parcel.objects.bulk_create([Parcel(address="a") for _ in range(20)])

    assert SinglePasses([registry.get(PARCELS)], say=lambda _: None).drain() == 0

    assert set(Parcel.objects.values_list("status", flat=True)) == {"done"}


def test_a_broken_schedule_is_named_and_the_others_run(caplog):
    def broken():
        raise ValueError("the zone is gone")

    Parcel.objects.create(address="a")

    once(declare(cadence=broken), registry.get(PARCELS))

    assert "schedule_broken job=testapp.stocktaking" in caplog.text
    assert Parcel.objects.get().status == "done"


def test_a_second_signal_ends_it_at_once_and_a_job_that_leaves_only_fails():
    def leave(context):
        raise SystemExit(7)

    def stop_twice(context):
        signal.raise_signal(signal.SIGTERM)
        assert context.should_stop()
        signal.raise_signal(signal.SIGINT)

    once(declare(cadence=Manual()))
    request_run(STOCKTAKING, requested_by="anna")
    assert once(declare(leave, cadence=Manual()))[0] == 1
    request_run(STOCKTAKING, requested_by="anna")
    assert once(declare(stop_twice, cadence=Manual()))[0] == 1

    assert [status for _, status in statuses()] == ["failed", "running"]
