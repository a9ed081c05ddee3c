"""The thread that begins runs: due slots of singletons, and requests for any job."""

from __future__ import annotations

import datetime as dt
import threading

import pytest
from django.db import OperationalError, connections

from jobs import notifier
from jobs.cadence import Cron, Every, Manual
from jobs.declarations import JobDeclaration
from jobs.ledger import open_run
from jobs.models import JobRun, JobState
from jobs.models.run import RunStatus, Trigger
from jobs.pausing import pause, resume
from jobs.requests import request_run
from jobs.stopping import StopSignal
from jobs.testing import FakeIntervalScheduler, FakeScheduler, database_clock
from jobs.workers import conductor as conductor_module
from jobs.workers.conductor import Conductor
from jobs.workers.loop import JobLoop
from tests.conftest import wait_until

NOON = dt.datetime(2026, 6, 1, 12, 0, 30, tzinfo=dt.UTC)
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quiet_notifier")]


def declare(job_id="testapp.stocktaking", run_once=lambda context: None, **options):
    cadence = options.pop("cadence", Cron("0 * * * *"))
    return JobDeclaration(
        id=job_id,
        summary="Do it.",
        run_once=run_once,
        owner_file="tests",
        read_cadence=cadence if callable(cadence) else lambda: cadence,
        **options,
    )


@pytest.fixture
def conduct():
    """Make a conductor with fake schedulers; end its runs and its thread after the test."""
    made = []

    def make(*jobs, loops=None, **options):
        conductor = Conductor(
            jobs,
            loops or {},
            StopSignal(),
            crons=FakeScheduler(),
            intervals=FakeIntervalScheduler(),
            **options,
        )
        made.append(conductor)
        return conductor

    yield make
    for conductor in made:
        conductor._stop_signal.set()
        conductor.wake()
        wait_until(lambda conductor=conductor: not conductor.going_on())
        if conductor.ident is not None:
            conductor.join(20)


def statuses():
    return list(JobRun.objects.order_by("id").values_list("job_id", "trigger", "status"))


def test_the_fire_of_a_cron_task_wakes_the_job_whose_slot_is_due(conduct, monkeypatch):
    monkeypatch.setattr(conductor_module, "LOOK_SECONDS", 600)
    conductor = conduct(declare(cadence=Cron("0 * * * *", zone="Europe/Berlin")))
    with database_clock(NOON) as clock:
        conductor.start()
        wait_until(lambda: JobState.objects.filter(next_due_at__isnull=False).exists())
        (task,) = conductor._crons.tasks
        assert task.cadence == Cron("0 * * * *", zone="Europe/Berlin")
        clock.advance(hours=1)

        task.fire()

        wait_until(lambda: statuses() == [("testapp.stocktaking", "schedule", "succeeded")])
    (run,) = JobRun.objects.all()
    assert run.scheduled_for == dt.datetime(2026, 6, 1, 13, tzinfo=dt.UTC)


def test_an_interval_task_wakes_it_too(conduct, monkeypatch):
    monkeypatch.setattr(conductor_module, "LOOK_SECONDS", 600)
    conductor = conduct(declare(cadence=Every(seconds=3600)))
    with database_clock(NOON) as clock:
        conductor.start()
        wait_until(lambda: JobState.objects.filter(next_due_at__isnull=False).exists())
        clock.advance(hours=1)

        assert conductor._intervals.fire_all() == 1

        wait_until(lambda: statuses() == [("testapp.stocktaking", "schedule", "succeeded")])


def test_a_fire_before_the_slot_runs_nothing(conduct):
    conductor = conduct(declare())
    with database_clock(NOON) as clock:
        conductor.look()
        clock.advance(minutes=59)
        conductor.look()

    assert statuses() == []


def test_one_broken_schedule_delays_no_other_and_is_named_once(conduct, caplog):
    def broken():
        raise ValueError("the zone is gone")

    others = [declare(f"tests.job{number:02}") for number in range(49)]
    conductor = conduct(declare("tests.job07b", cadence=broken), *others)
    conductor._schedule_wake_ups()
    assert len(conductor._crons.tasks) == 49
    with database_clock(NOON) as clock:
        conductor.look()
        clock.advance(hours=1)

        def look_until_all_ran():
            conductor.look()
            return JobRun.objects.filter(status="succeeded").count() == 49

        wait_until(look_until_all_ran)

    lines = [record for record in caplog.records if "schedule_broken" in record.message]
    assert [line.message for line in lines] == [
        "schedule_broken job=tests.job07b error=ValueError: the zone is gone"
    ]
    assert JobRun.objects.filter(job_id="tests.job07b").count() == 0


def test_a_run_that_is_fired_begins_even_if_the_database_is_gone_by_then(conduct, monkeypatch):
    ran = threading.Event()
    conductor = conduct(declare(run_once=lambda context: ran.set()))
    with database_clock(NOON) as clock:
        conductor.look()
        clock.advance(hours=1)
        fire = conductor_module.fire

        def fire_and_lose_the_database(declaration):
            run = fire(declaration)
            monkeypatch.setattr(connections["default"], "cursor", away)
            return run

        monkeypatch.setattr(conductor_module, "fire", fire_and_lose_the_database)

        conductor._fire("testapp.stocktaking")
        monkeypatch.undo()

        assert ran.wait(20)


def away(*_):
    raise OperationalError("the server closed the connection")


def test_an_outage_is_told_by_one_line_and_the_thread_goes_on_ticking(conduct, monkeypatch, caplog):
    ticks, looks = [], []
    conductor = conduct(declare(), on_tick=ticks.append)
    monkeypatch.setattr(conductor_module, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(conductor_module, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(conductor_module, "backoff_seconds", lambda failures: 0.05)

    def look():
        looks.append(1)
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(conductor, "look", look)

    conductor.start()
    wait_until(lambda: len(looks) >= 3)

    assert len(ticks) > len(looks)
    assert len([record for record in caplog.records if "conductor_failed" in record.message]) == 1
    assert conductor.is_alive()


def test_a_request_for_a_singleton_runs_here_and_one_for_a_queue_goes_to_its_loop(conduct):
    taken = []

    class Loop:
        def run_by_hand(self, run):
            taken.append(run)

        def set_paused(self, *, paused):
            pass

    queue = declare("testapp.parcels", cadence=Every(ms=1000), singleton=False)
    conductor = conduct(declare(cadence=Manual()), queue, loops={"testapp.parcels": Loop()})
    conductor.look()
    request_run("testapp.stocktaking", requested_by="anna")
    request_run("testapp.parcels", requested_by="anna")

    conductor.look()

    assert [(run.job_id, run.trigger) for run in taken] == [("testapp.parcels", Trigger.MANUAL)]
    wait_until(
        lambda: ("testapp.stocktaking", "manual", "succeeded") in statuses(), what=str(statuses())
    )


def test_a_request_for_a_job_that_this_process_does_not_run_is_left_to_others(conduct):
    conductor = conduct(declare("tests.other", cadence=Manual()))
    request_run("testapp.stocktaking", requested_by="anna")

    conductor.look()

    assert statuses() == [("testapp.stocktaking", "manual", "requested")]


def test_no_more_runs_begin_than_there_are_threads(conduct, monkeypatch):
    monkeypatch.setattr(conductor_module, "MOST_THREADS", 2)
    gate = threading.Event()
    jobs = [declare(f"tests.job{number}", lambda context: gate.wait(20)) for number in range(4)]
    conductor = conduct(*jobs)
    with database_clock(NOON) as clock:
        conductor.look()
        clock.advance(hours=1)
        conductor.look()
        conductor.look()
        assert [status for *_, status in statuses()] == ["running", "running"]

        gate.set()

        def look_until_all_ran():
            conductor.look()
            return [status for *_, status in statuses()] == ["succeeded"] * 4

        wait_until(look_until_all_ran)


def test_the_end_of_a_run_lets_the_request_that_waited_for_it_begin(conduct):
    gate = threading.Event()
    conductor = conduct(declare(run_once=lambda context: gate.wait(20), cadence=Manual()))
    conductor.start()
    request_run("testapp.stocktaking", requested_by="anna")
    conductor.wake()
    wait_until(lambda: [status for *_, status in statuses()] == ["running"])
    request_run("testapp.stocktaking", requested_by="ben")
    conductor.wake()

    gate.set()

    wait_until(lambda: [status for *_, status in statuses()] == ["succeeded"] * 2)
    first, second = JobRun.objects.order_by("id")
    assert second.started_at >= first.finished_at


def test_nothing_begins_once_the_process_is_to_stop(conduct):
    conductor = conduct(declare())
    with database_clock(NOON) as clock:
        conductor.look()
        clock.advance(hours=1)
        conductor._stop_signal.set()

        conductor.look()

    assert statuses() == []


def test_progress_is_written_while_a_run_goes_on(conduct):
    gate = threading.Event()

    def work(context):
        context.progress(3, 9)
        gate.wait(20)

    conductor = conduct(declare(run_once=work, cadence=Manual()))
    conductor.look()
    request_run("testapp.stocktaking", requested_by="anna")
    conductor.look()

    def seen():
        conductor.report()
        return JobRun.objects.filter(progress_done=3, progress_total=9).exists()

    wait_until(seen)
    gate.set()


def test_the_loops_hear_of_a_pause_and_of_its_end(conduct):
    queue = declare("testapp.parcels", cadence=Every(ms=1000), singleton=False)
    loop = JobLoop(queue, StopSignal())
    conductor = conduct(queue, loops={queue.id: loop})
    pause(queue.id, actor="anna", reason="")
    conductor.keep_pauses()
    assert loop._paused

    resume(queue)
    conductor.look()

    assert not loop._paused


def test_a_slot_whose_run_was_lost_is_not_run_again(conduct):
    job = declare()
    conductor = conduct(job)
    with database_clock(NOON) as clock:
        conductor.look()
        run = open_run(job.id, Trigger.SCHEDULE, slot=NOON.replace(hour=13, second=0))
        JobState.objects.update(
            accounted_until=NOON.replace(hour=13, second=0),
            next_due_at=NOON.replace(hour=14, second=0),
        )
        run.close(RunStatus.LOST)
        clock.advance(hours=1, minutes=30)
        conductor.look()

    assert [status for *_, status in statuses()] == ["lost"]
    notifier.flush(1.0)
