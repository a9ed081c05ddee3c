"""A database that goes away, comes back, or is not there yet."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from project.postgres import pidfile
from project.postgres.attachment import Attachment, attach_at
from tests.conftest import wait_until
from tests.crash.harness import Fleet, url_of
from tests.crash.health_pages import health
from tests.forms import FULL
from tests.project.postgres_site import Site, connect, throw_away

GRACE_SECONDS = 1


@dataclass
class Server:
    """A PostgreSQL of this test's own, which nobody brings back but the test."""

    site: Site
    attachment: Attachment | None = None

    def start(self) -> None:
        self.attachment = attach_at(self.site.places)
        self.attachment._supervisor.stop()

    def crash(self) -> None:
        """Shut it down as ``pg_ctl stop -m immediate`` does."""
        postmaster = pidfile.find_postmaster(self.site.places.data)
        assert postmaster
        os.kill(postmaster.pid, signal.SIGQUIT)
        wait_until(lambda: not pidfile.is_alive(postmaster.pid), seconds=30)
        self.leave()

    def shut_down(self) -> None:
        """Stop it as ``pg_ctl stop`` does: connections are told, and ended."""
        postmaster = pidfile.find_postmaster(self.site.places.data)
        assert postmaster
        os.kill(postmaster.pid, signal.SIGINT)
        wait_until(lambda: not pidfile.is_alive(postmaster.pid), seconds=30)
        self.leave()

    def leave(self) -> None:
        if self.attachment is not None:
            self.attachment.detach()
            self.attachment = None

    @property
    def url(self) -> str:
        assert self.attachment
        return url_of(self.attachment.address.django_settings())

    def ask(self, statement: str) -> list[tuple]:
        assert self.attachment
        with connect(self.attachment.address) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def count(self, condition: str) -> int:
        return self.ask(f"SELECT count(*) FROM testapp_parcels WHERE {condition}")[0][0]

    def add_parcels(self, count: int, instruction: str = "deliver") -> None:
        self.ask(
            "INSERT INTO testapp_parcels (address, instruction, delivered_by)"
            f" SELECT 'a', '{instruction}', '' FROM generate_series(1, {count})"
        )


@pytest.fixture(scope="module")
def running(tmp_path_factory) -> Iterator[tuple[Server, Fleet]]:
    environment = {
        "WORKER_SHUTDOWN_GRACE_MS": str(GRACE_SECONDS * 1000),
        "EMAIL_DELIVERY_URL": "console:",
        "WORKER_HEALTH": "127.0.0.1:0",
        "SCHEDULED": json.dumps(
            [
                {"id": "scheduled.second", "cadence": "every 1000"},
                {"id": "scheduled.deaf", "cadence": "every 1000", "work": "sleep"},
            ]
        ),
    }
    with throw_away() as site:
        server = Server(site)
        server.start()
        directory = tmp_path_factory.mktemp("outage")
        with Fleet(directory, database_url=server.url, **environment) as fleet:
            migrating = fleet.run("migrate")
            assert migrating.wait() == 0, migrating.output()
            yield server, fleet
        server.leave()


@pytest.fixture
def fleet(running) -> Iterator[Fleet]:
    _, fleet = running
    yield fleet
    fleet.kill_all()


@pytest.fixture
def server(running, fleet) -> Server:
    server, _ = running
    if server.attachment is None:
        server.start()
    server.ask("TRUNCATE testapp_parcels, testapp_delivery, job_runs, job_states, workers")
    return server


@pytest.mark.timeout(150)
def test_an_outage_is_survived_by_the_same_process_and_loses_nothing(server, fleet, figures):
    server.add_parcels(30, "sleep 0.1")
    worker = fleet.start("--only", "testapp.parcels", "testapp.crates")
    wait_until(lambda: server.count("status = 'done'") > 5)

    server.crash()
    began = time.monotonic()
    worker.await_output("pass_not_possible")
    server.start()
    server.add_parcels(10)

    wait_until(lambda: server.count("status <> 'done'") == 0, seconds=60)
    figures(outage_seconds=round(time.monotonic() - began, 1))
    assert worker.code is None
    # One line per loop and half a minute, however often it has tried.
    assert len(worker.lines("pass_not_possible")) <= 2
    assert "Traceback" not in worker.output()
    ((handled, most),) = server.ask(
        "SELECT count(DISTINCT row_id), max(times) FROM (SELECT row_id, count(*) AS times"
        " FROM testapp_delivery GROUP BY row_id) AS t"
    )
    assert handled == 40
    assert most <= 2
    assert worker.stop() == 0


@pytest.mark.timeout(150)
def test_a_stop_without_a_database_ends_in_time_and_says_that_it_was_not_clean(
    server, fleet, figures
):
    server.add_parcels(3, "sleep 60")
    worker = fleet.start("--only", "testapp.parcels")
    wait_until(lambda: server.count("begun_at IS NOT NULL") == 3)
    server.crash()

    asked = time.monotonic()
    worker.send(signal.SIGTERM)
    code = worker.wait(seconds=40)
    took = time.monotonic() - asked

    figures(grace_seconds=GRACE_SECONDS, stopped_after=round(took, 1))
    assert code > 0
    assert took < GRACE_SECONDS + (5 if FULL else 15)


@pytest.mark.timeout(150)
def test_workers_wait_for_a_database_that_is_not_there_yet_and_other_commands_do_not(server, fleet):
    server.add_parcels(3)
    server.crash()
    worker = fleet.start("--only", "testapp.parcels")
    worker.await_output("Waiting for the database: ")

    command = fleet.run("runworkers", "--once")
    assert command.wait() == 3
    (line,) = command.output().splitlines()
    assert line.startswith("CommandError: The database is not reachable: ")
    assert worker.code is None
    server.start()

    wait_until(lambda: server.count("status = 'done'") == 3)
    assert worker.stop() == 0


@pytest.mark.timeout(150)
def test_a_worker_that_waits_for_its_database_can_be_stopped(server, fleet):
    server.crash()
    worker = fleet.start()
    worker.await_output("Waiting for the database: ")

    assert worker.stop() == 0


OUTAGE_SECONDS = 120 if FULL else 8
LOOPS = ("testapp.parcels", "scheduled.second")


@pytest.mark.timeout(400 if FULL else 150)
def test_four_workers_outlast_a_server_that_is_stopped_and_started_again(server, fleet, figures):
    workers = [fleet.start("--only", *LOOPS) for _ in range(4)]
    for worker in workers:
        worker.await_start()
    server.add_parcels(20, "sleep 0.3")
    wait_until(lambda: server.count("status = 'done'") > 3)
    wait_until(lambda: {health(worker, "/readyz")[0] for worker in workers} == {200})
    before = [worker.output() for worker in workers]

    server.shut_down()
    stopped = time.monotonic()
    wait_until(lambda: {health(worker, "/readyz")[0] for worker in workers} == {503})
    while time.monotonic() - stopped < OUTAGE_SECONDS:
        assert {health(worker, "/healthz")[0] for worker in workers} == {200}
        time.sleep(1)
    server.start()
    started = time.monotonic()
    server.add_parcels(20)

    # The backoff has a cap of 30 s, and a poll comes after it.
    wait_until(lambda: server.count("id > 20 AND status <> 'pending'") > 0, seconds=45)
    next_claim = time.monotonic() - started
    wait_until(lambda: server.count("status = 'done'") == 40, seconds=60)
    wait_until(lambda: {health(worker, "/readyz")[0] for worker in workers} == {200}, seconds=60)
    lines = [
        [line for line in worker.output()[len(seen) :].splitlines() if re.match(r"\d{4}-", line)]
        for worker, seen in zip(workers, before, strict=True)
    ]
    figures(
        outage_seconds=OUTAGE_SECONDS,
        next_claim_after=round(next_claim, 1),
        log_lines_per_worker=[len(some) for some in lines],
    )
    assert [worker.code for worker in workers] == [None] * 4
    ((handled, most),) = server.ask(
        "SELECT count(DISTINCT row_id), max(times) FROM (SELECT row_id, count(*) AS times"
        " FROM testapp_delivery WHERE queue = 'testapp_parcels' GROUP BY row_id) AS t"
    )
    assert handled == 40
    assert most <= 2
    assert_slots_ran_once(server)
    for worker, some in zip(workers, lines, strict=True):
        assert "Traceback" not in worker.output()
        # Loop, conductor, heartbeat, LISTEN, notifier, and one per row in work: each may say
        # it once in half a minute.
        allowed = 1 + OUTAGE_SECONDS // 30
        events = Counter(event_of(line) for line in some)
        for event in ("pass_not_possible", "conductor_failed", "heartbeat_not_possible"):
            assert events[event] <= allowed, (event, some)
        assert len(some) < 8 * allowed + 20, some
    assert [worker.stop() for worker in workers] == [0] * 4


def event_of(line):
    found = re.search(r" [\w.]+ (\w+)( |$)", line)
    return found[1] if found else line


def assert_slots_ran_once(server):
    rows = wait_until(
        lambda: server.ask(
            "SELECT row_id, count(*) FROM testapp_delivery"
            " WHERE queue = 'scheduled.second' GROUP BY row_id"
        ),
        what="a slot that ran",
    )
    assert {times for _, times in rows} == {1}
    ((held,),) = server.ask("SELECT count(*) FROM job_runs WHERE status = 'requested'")
    assert held == 0


@pytest.mark.timeout(150)
def test_a_stop_without_a_database_does_not_wait_for_a_singleton_to_be_written(server, fleet):
    worker = fleet.start("--only", "scheduled.deaf", "testapp.parcels")
    wait_until(lambda: server.ask("SELECT 1 FROM testapp_delivery LIMIT 1"))
    server.crash()
    asked = time.monotonic()
    worker.send(signal.SIGTERM)

    assert worker.wait(seconds=40) > 0
    assert time.monotonic() - asked < GRACE_SECONDS + (5 if FULL else 15)
