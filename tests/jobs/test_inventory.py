"""The inventory: declarations joined to the ledger."""

from __future__ import annotations

import datetime as dt

import pytest
from django.utils import timezone

from jobs import pausing
from jobs.alerts.evaluate import evaluate
from jobs.cadence import Cron, Every, Manual
from jobs.models import JobRun, JobState
from jobs.reads.cadences import next_fires
from jobs.reads.inventory import get_job, list_jobs
from tests.jobs.alerting import (
    ORDERS,
    ago,
    declared,
    on_time,
    only_declared,
    open_alerts,
    scheduled_run,
    worker,
)


@pytest.fixture
def orders(db):
    worker()
    with only_declared(), declared():
        yield ORDERS


def the_job(job_id: str = ORDERS):
    found = get_job(job_id)
    assert found is not None
    return found


def test_a_job_that_never_ran_is_listed_as_such(orders) -> None:
    (item,) = list_jobs().items

    assert (item.id, item.health, item.declared) == (ORDERS, "never ran", True)
    assert item.last_run is None
    assert item.last_runs == ()
    # The workers have been there for hours, and none of them has taken it up.
    assert item.health_words.endswith("no run started; it never ran")


def test_a_job_that_is_not_due_yet_has_not_run_and_is_not_late(orders) -> None:
    on_time()

    assert the_job().health == "never ran"
    assert the_job().health_words == "declared, and no scheduled run yet"


def test_a_job_in_the_database_that_nobody_declares_is_listed_as_such(orders) -> None:
    JobState.objects.create(job_id="shop.gone")
    scheduled_run("succeeded", job_id="shop.gone")

    gone, _ = list_jobs().items

    assert (gone.id, gone.declared, gone.health) == ("shop.gone", False, "not declared")
    assert gone.last_run is not None
    assert gone.cadence is None


def test_jobs_are_listed_by_id_with_what_their_declarations_say(orders) -> None:
    with declared("shop.audit", cadence=Cron("30 2 * * *", zone="Europe/Berlin")):
        audit, orders_item = list_jobs().items

    assert (audit.id, orders_item.id) == ("shop.audit", ORDERS)
    assert audit.summary == "Bill the orders."
    assert audit.owner_file == "shop/jobs.py:1"
    assert (audit.manual_run, audit.singleton) == (True, True)
    assert audit.cadence is not None
    assert (audit.cadence.kind, audit.cadence.expression) == ("cron", "30 2 * * *")
    assert (audit.cadence.timezone, audit.cadence.source) == ("Europe/Berlin", "code")
    assert audit.cadence.text == "every day at 02:30 Europe/Berlin"


@pytest.mark.parametrize(
    ("cadence", "kind", "ms", "text"),
    [
        (Every(seconds=90), "every", 90_000, "every 90 seconds"),
        (Manual(), "manual", None, "only by hand"),
    ],
)
def test_every_kind_of_cadence_is_shown(orders, cadence, kind, ms, text) -> None:
    with declared("shop.audit", cadence=cadence, cadence_is_data=True):
        item = the_job("shop.audit").cadence

    assert item is not None
    assert (item.kind, item.ms, item.text, item.source) == (kind, ms, text, "data")


def test_a_cadence_that_cannot_be_read_spoils_no_other_job(orders) -> None:
    def unreadable():
        raise ValueError("no such row")

    with declared("shop.broken", read_cadence=unreadable):
        broken, well = list_jobs().items

    assert broken.cadence is not None
    assert (broken.cadence.kind, broken.health) == ("unreadable", "late")
    assert "no such row" in broken.health_words
    assert (broken.next_due, broken.next_fires) == (None, ())
    assert len(well.next_fires) == 5


def test_a_failing_job_says_since_when(orders) -> None:
    on_time()
    good_at = ago(days=8, hours=1)
    scheduled_run("succeeded", started_at=good_at, finished_at=good_at)
    for _ in range(4):
        scheduled_run("failed")

    item = the_job()

    assert (item.health, item.consecutive_failures) == ("failing", 4)
    assert item.health_words == ("4 scheduled runs in a row failed; the last good one was 8 d ago")


def test_one_failure_is_said_and_makes_no_job_failing(orders) -> None:
    on_time()
    scheduled_run("succeeded")
    scheduled_run("failed")

    item = the_job()

    assert (item.health, item.consecutive_failures) == ("ok", 1)
    assert "The last scheduled run failed" in item.health_words


def test_a_manual_success_turns_no_failing_job_well(orders) -> None:
    on_time()
    for _ in range(3):
        scheduled_run("failed")
    scheduled_run("succeeded", trigger="manual")

    item = the_job()

    assert item.health == "failing"
    assert item.last_run is not None
    assert item.last_run.is_manual


@pytest.mark.parametrize("what", ["failing", "late", "ok", "never ran"])
def test_health_and_alerts_never_contradict_each_other(orders, what) -> None:
    on_time(next_due_at=ago(hours=2)) if what == "late" else on_time()
    for _ in range(0 if what == "never ran" else 3):
        scheduled_run("failed" if what == "failing" else "succeeded")

    evaluate()

    rules = {"failing": "consecutive_failures", "late": "missed_window"}
    assert open_alerts() == ([(rules[what], ORDERS)] if what in rules else [])
    assert the_job().health == what


def test_a_paused_job_is_paused_and_says_by_whom_and_why(orders) -> None:
    on_time()
    pausing.pause(ORDERS, actor="anna", reason="the bank is down")

    item = the_job()

    assert (item.health, item.paused) == ("paused", True)
    assert (item.paused_by, item.pause_reason) == ("anna", "the bank is down")
    assert item.next_due is None


def test_a_queue_workers_last_tick_stands_for_its_runs(orders) -> None:
    JobState.objects.create(job_id="shop.mail", last_tick_at=ago(seconds=5), idle_passes=7)
    with declared("shop.mail", singleton=False, cadence=Every(seconds=30)):
        item = the_job("shop.mail")

    assert (item.health, item.idle_passes) == ("ok", 7)
    assert item.next_due is not None
    assert item.next_due - item.last_tick_at == dt.timedelta(seconds=30)
    assert item.next_fires == ()


def test_the_strip_has_the_last_twenty_runs_newest_first_with_manual_and_missed_ones(
    orders,
) -> None:
    for _ in range(25):
        scheduled_run("succeeded")
    scheduled_run("missed", started_at=None, count=3, scheduled_for=ago(hours=1))
    manual = scheduled_run("failed", trigger="manual")

    (item,) = list_jobs().items

    assert item.last_runs is not None
    assert len(item.last_runs) == 20
    assert item.last_runs[0].id == manual.pk
    assert item.last_runs[0].is_manual
    assert (item.last_runs[1].status, item.last_runs[1].count) == ("missed", 3)
    assert item.last_runs[1].seconds is None
    assert item.last_run == item.last_runs[0]


def test_a_slot_that_did_not_run_is_not_the_last_run(orders) -> None:
    run = scheduled_run("succeeded")
    scheduled_run("skipped", started_at=None)

    last = the_job().last_run

    assert last is not None
    assert last.id == run.pk


def test_durations_are_of_the_runs_of_thirty_days_and_not_of_folded_passes(orders) -> None:
    start = ago(days=1)
    for seconds in range(1, 102):
        scheduled_run(
            "succeeded", started_at=start, finished_at=start + dt.timedelta(seconds=seconds)
        )
    scheduled_run("succeeded", started_at=ago(days=31), finished_at=ago(days=30))
    scheduled_run("succeeded", started_at=ago(hours=1), finished_at=ago(minutes=1), passes=9)

    item = the_job()

    assert item.p50_seconds == pytest.approx(51)
    assert item.p95_seconds == pytest.approx(96)


def test_slow_history_costs_cells_and_not_the_page(orders, monkeypatch) -> None:
    from jobs.alerts import statements

    on_time()
    scheduled_run("succeeded")
    text = statements._text

    def slow(name: str) -> str:
        return "SELECT pg_sleep(20), %(job_ids)s, %(limit)s" if name == "last_runs" else text(name)

    monkeypatch.setattr(statements, "_text", slow)

    inventory = list_jobs(limit_ms=50)

    (item,) = inventory.items
    assert inventory.history_slow
    assert item.history_slow
    assert (item.last_runs, item.last_run, item.consecutive_failures) == (None, None, None)
    assert item.summary == "Bill the orders."
    assert item.next_due is not None
    assert (item.health, item.health_words) == ("ok", "history is slow; it is not late")


def test_an_unknown_id_is_no_job(orders) -> None:
    assert get_job("shop.nothing") is None


def test_the_list_takes_as_many_statements_for_many_jobs_as_for_one(
    orders, django_assert_max_num_queries
) -> None:
    for n in range(30):
        JobState.objects.create(job_id=f"shop.gone{n}")
        scheduled_run("succeeded", job_id=f"shop.gone{n}")

    with django_assert_max_num_queries(10):
        assert len(list_jobs().items) == 31


def test_the_next_fires_are_in_utc_and_in_the_cadences_zone_with_daylight_marks() -> None:
    berlin = Cron("30 2 * * *", zone="Europe/Berlin")

    spring = next_fires(berlin, after=dt.datetime(2026, 3, 28, 12, tzinfo=dt.UTC), count=2)
    autumn = next_fires(berlin, after=dt.datetime(2026, 10, 24, 12, tzinfo=dt.UTC), count=2)

    assert [(fire.local, fire.daylight) for fire in spring] == [
        ("2026-03-29T03:00:00+02:00", "gap"),
        ("2026-03-30T02:30:00+02:00", None),
    ]
    assert [(fire.at.hour, fire.daylight) for fire in autumn] == [(0, "overlap"), (1, None)]


def test_a_running_run_has_no_duration_yet(orders) -> None:
    JobRun.objects.create(
        job_id=ORDERS,
        trigger="schedule",
        status="running",
        started_at=timezone.now(),
        lease_expires_at=timezone.now(),
    )

    last = the_job().last_run

    assert last is not None
    assert (last.status, last.seconds) == ("running", None)
