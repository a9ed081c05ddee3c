"""The loop of one queue worker in one process."""

from __future__ import annotations

import threading

import pytest
from django.db import OperationalError

from jobs.cadence import Every
from jobs.declarations import JobDeclaration
from jobs.ledger import open_runs
from jobs.models import JobRun, JobState
from jobs.models.run import Trigger
from jobs.requests import request_run, take_requests
from jobs.stopping import StopSignal
from jobs.workers import loop as loop_module
from jobs.workers.loop import JobLoop
from jobs.workers.queue_pass import work_queue
from tests.conftest import wait_until
from tests.testapp.jobs import parcel_policy
from tests.testapp.models import Parcel

pytestmark = pytest.mark.django_db(transaction=True)


class Passes:
    """Passes that wait at a gate, and what they were begun with."""

    def __init__(self) -> None:
        self.triggers = []
        self.contexts = []
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, context) -> None:
        self.triggers.append(context.trigger)
        self.contexts.append(context)
        assert self.gate.wait(20)


@pytest.fixture
def start():
    """Start loops that end with the test."""
    started = []

    def begin(run_once, **options):
        job = JobDeclaration(
            id="testapp.parcels",
            summary="Deliver.",
            run_once=run_once,
            owner_file="tests",
            read_cadence=lambda: Every(ms=1000),
            singleton=False,
        )
        loop = JobLoop(job, StopSignal(), **options)
        started.append(loop)
        loop.start()
        return loop

    yield begin
    for loop in started:
        stop(loop)
        loop.join(20)
        assert not loop.is_alive()


def stop(loop):
    loop._stop_signal.set()
    loop.look_up()


def ended(loop):
    return loop.state in ("waiting", "paused")


def test_wake_ups_before_a_pass_are_one_pass(start):
    passes = Passes()
    loop = start(passes)
    wait_until(lambda: loop.state == "waiting")
    with loop._wake:
        for _ in range(5):
            loop._pending = Trigger.SCHEDULE
            loop._woken.set()
    loop.wake(Trigger.NOTIFY)
    loop.wake(Trigger.SCHEDULE)

    wait_until(lambda: passes.triggers and ended(loop))

    # The more telling of the two: the poll would have come anyhow.
    assert passes.triggers == [Trigger.NOTIFY]


def test_many_wake_ups_during_a_pass_are_one_pass_after_it(start):
    passes = Passes()
    passes.gate.clear()
    loop = start(passes)
    loop.wake(Trigger.SCHEDULE)
    wait_until(lambda: len(passes.triggers) == 1)
    for _ in range(5):
        loop.wake(Trigger.NOTIFY)

    passes.gate.set()

    wait_until(lambda: len(passes.triggers) == 2 and ended(loop))
    assert passes.triggers == [Trigger.SCHEDULE, Trigger.NOTIFY]


def test_a_wake_up_that_the_pass_has_seen_itself_makes_no_other(start):
    seen = []

    def look_again(context):
        seen.append(1)
        loop.wake(Trigger.NOTIFY)
        assert context.woken.is_set()
        context.woken.clear()

    loop = start(look_again)
    loop.wake(Trigger.SCHEDULE)

    wait_until(lambda: seen and ended(loop))
    assert len(seen) == 1


def test_a_pass_that_raises_is_recorded_and_the_loop_goes_on(start):
    def fail(context):
        raise KeyError("x")

    loop = start(fail)
    loop.wake(Trigger.SCHEDULE)
    wait_until(lambda: JobRun.objects.filter(status="failed").count() == 1)
    loop.wake(Trigger.SCHEDULE)

    wait_until(lambda: JobRun.objects.filter(status="failed").count() == 2)
    assert loop.is_alive()


def test_a_pass_that_leaves_the_interpreter_does_not_end_the_loop(start):
    def leave(context):
        raise SystemExit(3)

    loop = start(leave)
    loop.wake(Trigger.SCHEDULE)

    wait_until(lambda: JobRun.objects.filter(status="failed").exists() and ended(loop))
    assert JobRun.objects.get().error.startswith("SystemExit: 3")
    assert loop.is_alive()


def test_an_outage_is_told_by_one_line_and_the_pass_tried_again(start, monkeypatch, caplog):
    monkeypatch.setattr(loop_module, "backoff_seconds", lambda failures: 0.01)
    tries, ticks = [], []

    def try_it(context):
        tries.append(1)
        if len(tries) < 4:
            raise OperationalError("the server closed the connection")

    loop = start(try_it, on_tick=ticks.append)
    loop.wake(Trigger.SCHEDULE)

    wait_until(lambda: len(tries) == 4 and ended(loop))
    lines = [record for record in caplog.records if "pass_not_possible" in record.message]
    assert len(lines) == 1
    assert "job=testapp.parcels failures=1" in lines[0].message
    assert len(ticks) >= 4
    assert JobRun.objects.count() == 0


def test_a_paused_loop_keeps_its_wake_up_until_it_is_resumed(start):
    passes = Passes()
    loop = start(passes)
    loop.set_paused(paused=True)
    loop.wake(Trigger.NOTIFY)
    wait_until(lambda: loop.state == "paused")
    assert passes.triggers == []

    loop.set_paused(paused=False)

    wait_until(lambda: passes.triggers == [Trigger.NOTIFY])


def test_a_pause_during_a_pass_finishes_the_rows_in_work_and_releases_the_others(start):
    at_work, gate = threading.Event(), threading.Event()
    handled = []

    def deliver(parcel):
        handled.append(parcel.pk)
        if len(handled) == parcel_policy().handlers:
            at_work.set()
        assert gate.wait(20)

    Parcel.objects.bulk_create([Parcel(address="a") for _ in range(20)])
    loop = start(lambda context: work_queue(context, parcel_policy(), deliver))
    loop.wake(Trigger.SCHEDULE)
    assert at_work.wait(20)

    loop.set_paused(paused=True)
    gate.set()

    wait_until(lambda: loop.state == "paused")
    assert len(handled) == parcel_policy().handlers
    assert Parcel.objects.filter(status="done").count() == len(handled)
    assert Parcel.objects.filter(status="pending", attempts=0).count() == 20 - len(handled)
    loop.set_paused(paused=False)
    wait_until(lambda: Parcel.objects.filter(status="done").count() == 20)


def test_a_request_is_answered_while_the_job_is_paused_and_no_pass_follows(start):
    JobState.objects.create(job_id="testapp.parcels")
    passes = Passes()
    loop = start(passes)
    loop.set_paused(paused=True)
    request_run("testapp.parcels", requested_by="anna")
    (run,) = take_requests(["testapp.parcels"], singletons=[], limit=1)

    loop.run_by_hand(run)

    wait_until(lambda: JobRun.objects.filter(pk=run.id, status="succeeded").exists())
    wait_until(lambda: loop.state == "paused")
    assert passes.triggers == [Trigger.MANUAL]


def test_a_pause_does_not_end_a_pass_by_hand(start):
    JobState.objects.create(job_id="testapp.parcels")
    passes = Passes()
    passes.gate.clear()
    loop = start(passes)
    request_run("testapp.parcels", requested_by="anna")
    loop.run_by_hand(*take_requests(["testapp.parcels"], singletons=[], limit=1))
    wait_until(lambda: passes.contexts)

    loop.set_paused(paused=True)

    assert not passes.contexts[0].should_stop()
    passes.gate.set()


def test_requests_that_a_stopped_loop_has_not_begun_wait_for_another_worker(start):
    JobState.objects.create(job_id="testapp.parcels")
    loop = start(Passes())
    stop(loop)
    loop.join(20)
    request_run("testapp.parcels", requested_by="anna")
    loop.run_by_hand(*take_requests(["testapp.parcels"], singletons=[], limit=1))

    loop.give_back_requests()

    assert JobRun.objects.get().status == "requested"
    assert open_runs.runs == {}


def test_a_row_whose_handler_leaves_the_interpreter_fails_like_any_other(start):
    def leave(parcel):
        raise SystemExit("enough")

    parcel = Parcel.objects.create(address="a")
    loop = start(lambda context: work_queue(context, parcel_policy(), leave))
    loop.wake(Trigger.SCHEDULE)

    wait_until(lambda: Parcel.objects.filter(pk=parcel.pk, status="failed").exists())
    parcel.refresh_from_db()
    assert parcel.last_error.startswith("SystemExit: enough")
    assert parcel.claim_token is None
