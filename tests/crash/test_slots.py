"""Slots of singletons, with several real workers, restarts, faults and a lost answer."""

from __future__ import annotations

import datetime as dt
import json
import re
import signal
import time
from collections import Counter

import pytest
from django.db import connection
from django.db.models import F, Max, Min

from jobs.cadence import Cron, Every
from jobs.ledger import close_lost
from jobs.models import Alert, JobRun, JobState
from jobs.requests import request_run
from tests.conftest import wait_until
from tests.crash.harness import Fleet, url_of
from tests.crash.slots import (
    accounted_slots,
    anchored,
    deliveries,
    far_from_now,
    move_back,
    statuses,
)
from tests.forms import FULL
from tests.jobs.tcp_proxy import TcpProxy
from tests.testapp.models import Delivery

HOUR, DAY = dt.timedelta(hours=1), dt.timedelta(days=1)
HOURLY = far_from_now()
JOB, DAILY, SECOND, MINUTE = (
    f"scheduled.{name}" for name in ("hourly", "daily", "second", "minute")
)
MISSED = {policy: f"scheduled.missed_{policy}" for policy in ("skip", "one", "5")}
FIFTY = [f"scheduled.job{number:02}" for number in range(49)]
BROKEN = "scheduled.job07broken"
DECLARED = [
    {"id": JOB, "cadence": HOURLY},
    {"id": DAILY, "cadence": "0 3 * * * Europe/Berlin"},
    {"id": SECOND, "cadence": "every 1000", "missed": "60"},
    {"id": MINUTE, "cadence": "* * * * * UTC", "missed": "60"},
    *({"id": job_id, "cadence": HOURLY, "missed": policy} for policy, job_id in MISSED.items()),
    *({"id": job_id, "cadence": HOURLY} for job_id in FIFTY),
    {"id": BROKEN, "cadence": f"fragile {HOURLY}"},
]
SCHEDULED = {"SCHEDULED": json.dumps(DECLARED), "LOOK_SECONDS": "1"}


@pytest.fixture(scope="module")
def site(django_db_setup, tmp_path_factory):
    url = url_of(connection.settings_dict)
    with Fleet(tmp_path_factory.mktemp("slots"), database_url=url, **SCHEDULED) as fleet:
        yield fleet


@pytest.fixture
def fleet(site, transactional_db):
    """Workers that know all of these jobs; a test says which of them they run."""
    yield site
    site.kill_all()
    for wish in ("die", "cut", "clock", "break"):
        (site.directory / wish).unlink(missing_ok=True)


@pytest.mark.timeout(450 if FULL else 120)
def test_five_workers_run_each_slot_once(fleet, figures):
    job_id, cadence, wanted = SECOND, Every(ms=1000), 6
    if FULL:
        job_id, cadence, wanted = MINUTE, Cron("* * * * *"), 5
    workers = [fleet.start("--only", job_id) for _ in range(5)]
    for worker in workers:
        worker.await_start()

    wait_until(lambda: len(deliveries(job_id)) >= wanted, seconds=wanted * 60 + 60)
    # Two more seconds, so that a second run of the last slot would be seen.
    time.sleep(2)
    for worker in workers:
        worker.send(signal.SIGTERM)
    codes = {worker.wait() for worker in workers}

    span = JobRun.objects.aggregate(first=Min("scheduled_for"), last=Max("scheduled_for"))
    figures(
        slots=accounted_slots(cadence, job_id).total(),
        runs=deliveries(job_id).total(),
        statuses=dict(Counter(statuses(job_id))),
        workers_that_ran=Delivery.objects.values("worker").distinct().count(),
    )
    assert codes == {0}
    before = span["first"] - dt.timedelta.resolution
    expected = list(cadence.slots_between(before, span["last"]))
    assert accounted_slots(cadence, job_id) == Counter(expected)
    assert set(deliveries(job_id).values()) == {1}
    ran = JobRun.objects.filter(status="succeeded").values_list("scheduled_for", flat=True)
    assert set(deliveries(job_id)) == {int(slot.timestamp()) for slot in ran}
    if FULL:
        assert statuses(job_id) == ["succeeded"] * 5


@pytest.mark.timeout(120)
def test_after_a_day_without_workers_each_job_does_what_its_policy_says(fleet, figures):
    cadence, ids = Cron(HOURLY.removesuffix(" UTC")), MISSED
    first = fleet.start("--only", *ids.values())
    wait_until(lambda: anchored(*ids.values()))
    assert first.stop() == 0
    began = JobState.objects.get(pk=ids["one"]).accounted_until - DAY
    move_back(DAY, *ids.values())

    workers = [fleet.start("--only", *ids.values()) for _ in range(2)]

    wait_until(
        lambda: (
            statuses(ids["5"]) == ["missed", *["succeeded"] * 5]
            and statuses(ids["one"]) == ["missed", "succeeded"]
            and statuses(ids["skip"]) == ["missed"]
        )
    )
    for worker in workers:
        assert worker.stop() == 0
    runs = {policy: deliveries(ids[policy]).total() for policy in ids}
    figures(slots=24, runs=runs)
    assert runs == {"skip": 0, "one": 1, "5": 5}
    for job_id in ids.values():
        until = JobState.objects.get(pk=job_id).accounted_until
        if job_id == ids["skip"]:
            until = JobRun.objects.get(job_id=job_id).scheduled_for
        slots = list(cadence.slots_between(began, until))
        assert len(slots) == 24
        assert accounted_slots(cadence, job_id) == Counter(slots)
    order = JobRun.objects.filter(job_id=ids["5"], status="succeeded").order_by("started_at")
    slots = list(order.values_list("scheduled_for", flat=True))
    assert slots == sorted(slots)
    triggers = order.values_list("trigger", flat=True).distinct()
    assert set(triggers) == {"catch_up"}


@pytest.mark.timeout(900 if FULL else 300)
def test_a_deploy_every_few_hours_for_three_days_runs_a_daily_job_three_times(fleet, figures):
    began = dt.datetime(2026, 6, 1, 12, tzinfo=dt.UTC)
    every = 1 if FULL else 12

    restarts = range(0, 73, every)
    for hours in restarts:
        (fleet.directory / "clock").write_text((began + hours * HOUR).isoformat())
        worker = fleet.run("runworkers", "--once", "--only", DAILY)
        assert worker.wait() == 0, worker.output()

    figures(restarts=len(restarts), runs=deliveries(DAILY).total())
    assert statuses(DAILY) == ["succeeded"] * 3
    assert list(deliveries(DAILY).values()) == [1, 1, 1]
    slots = JobRun.objects.order_by("id").values_list("scheduled_for", flat=True)
    assert [slot.day for slot in slots] == [2, 3, 4]
    assert {slot.hour for slot in slots} == {1}


@pytest.mark.timeout(120)
def test_a_job_resumed_after_three_days_runs_nothing_of_them(fleet):
    worker = fleet.start("--only", JOB)
    wait_until(lambda: anchored(JOB))
    assert fleet.run("jobs", "pause", JOB, "--reason", "a migration").wait() == 0
    move_back(3 * DAY, JOB)
    JobState.objects.update(paused_at=F("paused_at") - 3 * DAY)
    assert JobState.objects.get().next_due_at < dt.datetime.now(dt.UTC)

    assert fleet.run("jobs", "resume", JOB).wait() == 0

    state = JobState.objects.get()
    assert state.paused_at is None
    assert state.next_due_at > dt.datetime.now(dt.UTC)
    assert fleet.run("jobs", "run", JOB, "--wait").wait() == 0  # so the worker has looked since
    assert worker.code is None
    assert list(JobRun.objects.values_list("trigger", "status")) == [("manual", "succeeded")]
    assert worker.stop() == 0


@pytest.mark.timeout(120)
def test_a_worker_that_dies_before_its_commit_leaves_the_slot_to_the_next(fleet, figures):
    worker = fleet.start("--only", JOB)
    wait_until(lambda: anchored(JOB))
    (fleet.directory / "die").touch()
    move_back(HOUR, JOB)

    assert worker.wait() == -signal.SIGKILL
    assert (JobRun.objects.count(), deliveries(JOB).total()) == (0, 0)
    assert JobState.objects.get().next_due_at < dt.datetime.now(dt.UTC)
    second = fleet.start("--only", JOB)

    wait_until(lambda: statuses(JOB) == ["succeeded"])
    assert second.stop() == 0
    figures(runs=deliveries(JOB).total())
    assert list(deliveries(JOB).values()) == [1]


@pytest.mark.timeout(120)
def test_a_connection_that_breaks_before_the_commit_costs_no_slot(fleet):
    worker = fleet.start("--only", JOB)
    wait_until(lambda: anchored(JOB))
    (fleet.directory / "cut").touch()
    move_back(HOUR, JOB)

    wait_until(lambda: statuses(JOB) == ["succeeded"])

    assert not (fleet.directory / "cut").exists()
    assert worker.lines("conductor_failed")
    assert worker.stop() == 0
    assert list(deliveries(JOB).values()) == [1]


class ForgetfulProxy(TcpProxy):
    """Swallows, once, the answer to the COMMIT of a transaction with a certain statement."""

    def __init__(self, database, *, statement) -> None:
        self.statement = statement
        self.swallowed = 0
        self._marked = set()
        self._doomed = set()
        super().__init__(database)

    def relay(self, pair, source, target, content):
        if source is pair.near:
            if self.statement.search(content):
                self._marked.add(pair)
            if pair in self._marked and b"COMMIT" in content and not self.swallowed:
                self.swallowed += 1
                self._doomed.add(pair)
        elif pair in self._doomed:
            # The server has committed, and nobody hears of it.
            self._doomed.discard(pair)
            self.cut(pair)
            return
        target.sendall(content)


FIRED = re.compile(rb'INSERT INTO "job_runs"')
ENDED = re.compile(rb'UPDATE "job_runs" SET "[^;]*succeeded')


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("statement", "outcome", "runs"), [(FIRED, "lost", 0), (ENDED, "succeeded", 1)]
)
def test_a_slot_whose_commit_nobody_heard_of_is_never_run_twice(
    make_fleet, figures, statement, outcome, runs
):
    with ForgetfulProxy(connection.settings_dict, statement=statement) as proxy:
        fleet = make_fleet(DATABASE_URL=proxy.url, **SCHEDULED)
        worker = fleet.start("--only", JOB)
        wait_until(lambda: anchored(JOB))
        move_back(HOUR, JOB)

        wait_until(lambda: statuses(JOB) == [outcome])

        # Looked at again by the same process and by another one.
        assert fleet.run("runworkers", "--once", "--only", JOB).wait() == 0
        assert worker.stop() == 0
        figures(answers_swallowed=proxy.swallowed, outcome=outcome, runs=deliveries(JOB).total())
        assert proxy.swallowed == 1
        assert statuses(JOB) == [outcome]
        assert deliveries(JOB).total() == runs
        assert close_lost() == []


@pytest.mark.timeout(150)
def test_one_broken_schedule_among_fifty_is_named_and_the_others_run(fleet, figures):
    others, broken = FIFTY, BROKEN
    worker = fleet.start("--only", *others, broken, "jobs.alerts")
    wait_until(lambda: anchored(*others, broken))
    (fleet.directory / "break").touch()
    moved = time.monotonic()
    move_back(HOUR, *others, broken)

    wait_until(lambda: JobRun.objects.filter(job_id__in=others, status="succeeded").count() == 49)
    took = time.monotonic() - moved
    request_run("jobs.alerts", requested_by="anna")
    wait_until(lambda: Alert.objects.filter(rule="missed_window", subject=broken).exists())
    figures(others_ran=49, within_seconds=round(took, 1))
    assert worker.lines(f"schedule_broken job={broken}")
    assert worker.code is None
    assert not Alert.objects.filter(rule="missed_window", subject__in=others).exists()
    assert worker.stop() == 0
