"""One process that runs every job, from the inside; its signals are tested with real processes."""

from __future__ import annotations

import threading
import time

import pytest
from django.db import OperationalError

from jobs.cadence import Cron, Every
from jobs.claims import claim_rows
from jobs.declarations import JobDeclaration, registry
from jobs.health.state import ProcessHealth
from jobs.ledger import open_run
from jobs.models.run import Trigger
from jobs.models.worker import ListenState
from jobs.workers import process as process_module
from jobs.workers.process import WorkerProcess, cadence_text, channels_of, write_within
from tests.conftest import wait_until
from tests.testapp.jobs import parcel_policy
from tests.testapp.models import Parcel

PARCELS = "testapp.parcels"


def declare(run_once=lambda context: None, **options):
    cadence = options.pop("cadence", Cron("0 3 * * *"))
    return JobDeclaration(
        id=options.pop("job_id", "tests.sweep"),
        summary="Sweep.",
        run_once=run_once,
        owner_file="tests",
        read_cadence=cadence if callable(cadence) else lambda: cadence,
        **options,
    )


@pytest.fixture
def health(monkeypatch):
    health = ProcessHealth()
    monkeypatch.setattr(process_module, "health", health)
    return health


@pytest.fixture
def make(health):
    """Make processes that start nothing by themselves."""
    made, said = [], []

    def process(*declarations):
        process = WorkerProcess(declarations, say=said.append)
        process.said = said
        made.append(process)
        return process

    yield process
    for process in made:
        process.stop.set()
        wait_until(lambda process=process: not process._conductor.going_on())


def test_a_job_is_woken_by_the_channel_of_its_queue_and_those_that_it_names():
    assert channels_of(registry.get(PARCELS)) == ("testapp_parcels",)
    assert channels_of(declare(channels=("orders", "refunds"))) == ("orders", "refunds")


@pytest.mark.parametrize(
    ("channel", "woken"),
    [
        ("testapp_parcels", {PARCELS: Trigger.NOTIFY}),
        ("testapp_crates", {"testapp.crates": Trigger.NOTIFY}),
        ("elsewhere", {}),
        # What was missed is not known: all of them look, and no NOTIFY was the reason.
        (None, {PARCELS: Trigger.SCHEDULE, "testapp.crates": Trigger.SCHEDULE}),
    ],
)
def test_a_notification_wakes_the_loops_of_its_channel(make, channel, woken):
    process = make(registry.get(PARCELS), registry.get("testapp.crates"))

    process._on_wake(channel)

    assert {
        job_id: loop._pending for job_id, loop in process._loops.items() if loop._pending
    } == woken


@pytest.mark.parametrize("channel", ["job_runs", "job_states", None])
def test_requests_pauses_and_a_new_connection_wake_the_conductor(make, channel):
    process = make(declare())
    assert {"job_runs", "job_states"} <= process._channels()

    process._on_wake(channel)

    assert process._conductor._wake.is_set()


@pytest.mark.django_db(transaction=True)
def test_the_row_of_the_process_says_what_it_holds_and_what_it_does(make, health):
    process = make(registry.get(PARCELS))
    assert process._describe() | {"loops": None} == {
        "listen": ListenState.STARTING,
        "draining": False,
        "claims_held": 0,
        "loops": None,
    }
    Parcel.objects.bulk_create([Parcel(address="a") for _ in range(3)])
    claim = claim_rows(parcel_policy())
    health.set_listen(ListenState.LISTENING)
    process.stop.set()

    told = process._describe()

    assert (told["listen"], told["draining"], told["claims_held"]) == ("listening", True, 3)
    assert told["loops"][PARCELS]["state"] == "starting"
    claim.release()


@pytest.mark.django_db(transaction=True)
def test_a_singleton_that_runs_here_is_among_the_loops_that_work(make):
    gate = threading.Event()
    process = make(declare(lambda context: gate.wait(20)))
    assert process._describe()["loops"] == {}
    process._conductor._begin(open_run("tests.sweep", Trigger.MANUAL))

    assert process._describe()["loops"]["tests.sweep"]["state"] == "working"

    gate.set()
    wait_until(lambda: process._describe()["loops"] == {})


def test_it_says_at_most_how_many_connections_it_opens(make):
    process = make(registry.get(PARCELS), declare(), declare(job_id="tests.other"))

    # A loop and its handlers; the conductor and a thread per singleton; heartbeat, LISTEN and
    # its probe, notifier.
    assert process.connections == 1 + parcel_policy().handlers + 1 + 2 + 4


def test_a_broken_schedule_is_said_at_the_start_and_stops_nothing(make):
    def broken():
        raise ValueError("the zone is gone")

    process = make(declare(cadence=broken), registry.get(PARCELS))

    process._announce()

    assert "broken schedule: ValueError: the zone is gone" in process.said[0]
    assert process.said[1].split()[0] == PARCELS
    assert process.said[-1].endswith("database connections at most")


def test_a_queue_says_that_commits_wake_it():
    assert cadence_text(registry.get(PARCELS)) == "every 200 ms and at commit"
    assert cadence_text(declare(cadence=Every(seconds=60))) == "every minute"


def test_a_loop_that_has_died_ends_the_process_and_is_named(make, monkeypatch, caplog):
    process = make(registry.get(PARCELS))
    monkeypatch.setattr(process._conductor, "is_alive", lambda: True)
    monkeypatch.setattr(process._heartbeat, "is_alive", lambda: True)

    process._watch()

    assert process.stop.is_set()
    assert "loop_died loops=loop-testapp.parcels" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_last_writes_are_done_in_their_order():
    done = []

    assert write_within(20, lambda: done.append(1), lambda: done.append(2))

    assert done == [1, 2]


def test_last_writes_that_hang_are_not_waited_for():
    gate = threading.Event()
    began = time.monotonic()

    assert not write_within(0.05, lambda: gate.wait(20))

    assert time.monotonic() - began < 15
    gate.set()


@pytest.mark.django_db(transaction=True)
def test_last_writes_that_fail_are_said(caplog):
    def fail():
        raise OperationalError("the server is gone")

    assert not write_within(20, fail)

    assert "last_write_not_possible error=OperationalError: the server is gone" in caplog.text


def test_a_second_signal_ends_the_process_at_once(make):
    process = make(registry.get(PARCELS))
    process._on_signal(15, None)
    assert process.stop.is_set()

    with pytest.raises(SystemExit) as ended:
        process._on_signal(2, None)

    assert ended.value.code == 1
