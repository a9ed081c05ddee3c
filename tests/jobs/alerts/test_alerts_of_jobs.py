"""Alerts about jobs, workers and backups, opened and resolved by the ledger."""

from __future__ import annotations

import datetime as dt

from django.utils import timezone

from jobs import pausing
from jobs.alerts.backups import BackupState, declare_backup, withdraw_backup
from jobs.alerts.evaluate import evaluate
from jobs.models import Alert, JobRun
from jobs.testing import database_clock
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


def test_three_scheduled_failures_open_one_alert_that_the_next_success_resolves(orders) -> None:
    for _ in range(3):
        scheduled_run("failed")
    first = evaluate()
    second = evaluate()
    scheduled_run("succeeded")
    third = evaluate()

    assert (len(first.opened), len(second.opened), len(third.resolved)) == (1, 0, 1)
    alert = Alert.objects.get()
    assert alert.rule == "consecutive_failures"
    assert alert.subject == ORDERS
    assert alert.last_seen_at > alert.opened_at
    assert "succeeded" in alert.resolution


def test_a_manual_success_neither_resolves_failures_nor_quiets_a_missed_window(orders) -> None:
    for _ in range(3):
        scheduled_run("failed")
    on_time(next_due_at=ago(hours=2))
    evaluate()
    opened = open_alerts()

    scheduled_run("succeeded", trigger="manual")
    evaluate()

    assert opened == [("consecutive_failures", ORDERS), ("missed_window", ORDERS)]
    assert open_alerts() == opened


def test_manual_failures_open_nothing(orders) -> None:
    for _ in range(5):
        scheduled_run("failed", trigger="manual")

    evaluate()

    assert open_alerts() == []


def test_many_manual_runs_hide_no_scheduled_failures(orders) -> None:
    for _ in range(3):
        scheduled_run("lost")
    JobRun.objects.bulk_create(
        JobRun(job_id=ORDERS, trigger="manual", status="succeeded") for _ in range(300)
    )

    evaluate()

    assert open_alerts() == [("consecutive_failures", ORDERS)]


def test_a_job_that_never_ran_opens_a_missed_window_and_its_first_run_resolves_it(orders) -> None:
    on_time(next_due_at=ago(hours=2), accounted_until=ago(hours=3))
    evaluate()
    opened = open_alerts()

    slot = ago(hours=2)
    scheduled_run("running", scheduled_for=slot, finished_at=None, lease_expires_at=timezone.now())
    on_time(accounted_until=slot)
    evaluate()

    assert opened == [("missed_window", ORDERS)]
    assert open_alerts() == []


def test_one_broken_schedule_is_named_and_the_others_are_not(orders) -> None:
    def unreadable():
        raise ValueError("no such row")

    with declared("shop.broken", read_cadence=unreadable):
        evaluate()

    alert = Alert.objects.get()
    assert (alert.rule, alert.subject) == ("missed_window", "shop.broken")
    assert "no such row" in alert.detail


def test_all_workers_dead_is_one_alert_and_not_one_per_job(db) -> None:
    worker(heartbeat=ago(minutes=5))
    with only_declared(), declared(), declared("shop.stock"):
        for job_id in (ORDERS, "shop.stock"):
            on_time(job_id, next_due_at=ago(hours=2))
        evaluate()
        dead = open_alerts()

        worker(name="web-2:1:aa", started_at=ago(minutes=2))
        evaluate()

    assert dead == [("no_worker", "-")]
    # With a worker there, what it does not run is said of each job.
    assert open_alerts() == [("missed_window", ORDERS), ("missed_window", "shop.stock")]


def test_a_backup_older_than_its_objective_is_an_alert_until_one_is_verified(orders) -> None:
    newest = None

    def read() -> BackupState:
        return BackupState(newest_verified_at=newest, rpo_hours=48)

    declare_backup("retention.backups", read)
    try:
        evaluate()
        never = open_alerts()
        newest = ago(hours=1)
        evaluate()
    finally:
        withdraw_backup("retention.backups")

    assert never == [("backup_older_than_rpo", "retention.backups")]
    assert open_alerts() == []


def test_pausing_a_job_closes_its_alerts_and_the_resolution_says_why(orders) -> None:
    on_time(next_due_at=ago(hours=2))
    for _ in range(3):
        scheduled_run("failed")
    evaluate()

    pausing.pause(ORDERS, actor="anna", reason="the bank is down")
    evaluate()

    assert open_alerts() == []
    assert set(Alert.objects.values_list("resolution", flat=True)) == {"The job was paused."}


def test_a_job_that_is_no_longer_declared_closes_its_alerts(db) -> None:
    worker()
    with only_declared():
        with declared():
            on_time(next_due_at=ago(hours=2))
            evaluate()
        evaluate()

    assert Alert.objects.get().resolution == "It is no longer declared."


def test_a_day_later_by_the_databases_clock_a_daily_job_is_missed(orders) -> None:
    on_time()
    evaluate()
    before = open_alerts()

    with database_clock(timezone.now() + dt.timedelta(days=1)) as clock:
        worker(name="web-2:1:aa", heartbeat=clock.at, started_at=ago(hours=1))
        evaluate()

    assert before == []
    assert open_alerts() == [("missed_window", ORDERS)]
