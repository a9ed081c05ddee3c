"""Evaluating the rules: once told, by the job and at a run's end, whatever fails."""

from __future__ import annotations

import logging
import threading

import pytest
from django.db import connections

from jobs.alerts import judging
from jobs.alerts.backups import BackupState, declare_backup, withdraw_backup
from jobs.alerts.evaluate import evaluate
from jobs.alerts.hooks import debounce, on_run_finished
from jobs.models import Alert
from jobs.models.alert import AlertRule
from jobs.testing import run_once
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
from tests.jobs.alerts.conftest import PARCEL_JOB, PARCELS, parcel


def test_an_error_in_one_rule_leaves_the_others_working(orders, monkeypatch, caplog) -> None:
    def broken(snapshot):
        raise ZeroDivisionError

    monkeypatch.setitem(judging.RULES, AlertRule.CONSECUTIVE_FAILURES, broken)
    on_time(next_due_at=ago(hours=2))

    evaluation = evaluate()

    assert open_alerts() == [("missed_window", ORDERS)]
    assert evaluation.failed_rules == ("consecutive_failures",)
    assert "alert_rule_failed rule=consecutive_failures" in caplog.text


def test_an_error_in_one_rule_resolves_none_of_its_alerts(orders, monkeypatch) -> None:
    for _ in range(3):
        scheduled_run("failed")
    evaluate()
    opened = open_alerts()

    monkeypatch.setitem(judging.RULES, AlertRule.CONSECUTIVE_FAILURES, lambda snapshot: 1 / 0)
    evaluate()

    assert opened
    assert open_alerts() == opened


def test_a_statement_that_fails_in_one_rule_spoils_no_other(orders) -> None:
    def broken() -> BackupState:
        Alert.objects.extra(where=["no_such_column"]).exists()
        raise AssertionError

    declare_backup("retention.backups", broken)
    on_time(next_due_at=ago(hours=2))
    try:
        evaluation = evaluate()
    finally:
        withdraw_backup("retention.backups")

    assert open_alerts() == [("missed_window", ORDERS)]
    assert evaluation.failed_rules == ("backup_older_than_rpo",)


@pytest.mark.django_db(transaction=True)
def test_two_evaluators_at_once_open_one_alert_and_tell_once(caplog) -> None:
    caplog.set_level(logging.INFO)
    worker()
    start = threading.Barrier(4)
    evaluations = []

    def one() -> None:
        try:
            start.wait(10)
            evaluations.append(evaluate())
        finally:
            connections.close_all()

    with only_declared(), declared():
        on_time(next_due_at=ago(hours=2))
        threads = [threading.Thread(target=one) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)

    assert sorted(len(item.opened) for item in evaluations) == [0, 0, 0, 1]
    assert Alert.objects.count() == 1
    assert caplog.text.count("alert_opened rule=missed_window") == 1


@pytest.mark.django_db(transaction=True)
def test_an_alert_opens_once_and_is_told_once_by_the_log(caplog) -> None:
    caplog.set_level(logging.INFO)
    worker()
    with only_declared(), declared():
        on_time()
        for _ in range(3):
            scheduled_run("failed")
        for _ in range(3):
            evaluate()
        scheduled_run("succeeded")
        for _ in range(3):
            evaluate()

    told = f"rule=consecutive_failures subject={ORDERS}"
    assert caplog.text.count(f"alert_opened {told}") == 1
    assert caplog.text.count(f"alert_resolved {told}") == 1
    levels = {record.levelname for record in caplog.records if "alert_" in record.message}
    assert levels == {"ERROR", "INFO"}


@pytest.mark.django_db(transaction=True)
def test_the_third_failure_of_a_singleton_opens_its_alert_at_the_runs_end() -> None:
    def fail(context):
        raise ValueError("the bank is down")

    worker()
    with only_declared(), declared("shop.failing", run_once=fail):
        on_time("shop.failing")
        for _ in range(2):
            run_once("shop.failing")
        after_two = open_alerts()
        run_once("shop.failing")

        assert after_two == []
        assert open_alerts() == [("consecutive_failures", "shop.failing")]


def test_a_pass_of_a_fast_queue_that_succeeds_costs_one_look_in_thirty_seconds(
    parcels, django_assert_num_queries
) -> None:
    debounce._said.clear()
    on_run_finished(job_id=PARCEL_JOB, status="succeeded", output={"done": 1})

    with django_assert_num_queries(0):
        on_run_finished(job_id=PARCEL_JOB, status="succeeded", output={"done": 1})


def test_a_pass_that_buries_a_row_opens_the_alert_of_its_queue_at_once(parcels) -> None:
    debounce._said.clear()
    parcel("failed")

    on_run_finished(job_id=PARCEL_JOB, status="succeeded", output={"claimed": 1, "dead": 1})

    assert open_alerts() == [("dead_letter_depth", PARCELS)]


def test_an_evaluation_at_a_runs_end_never_raises_into_the_run(orders, monkeypatch, caplog) -> None:
    monkeypatch.setattr("jobs.alerts.hooks.evaluate_job", lambda job_id, **options: 1 / 0)

    on_run_finished(job_id=ORDERS, status="failed")

    assert f"alerts_not_evaluated job={ORDERS}" in caplog.text


def test_an_evaluation_about_one_job_leaves_the_alerts_of_others_alone(orders) -> None:
    with declared("shop.stock"):
        on_time("shop.stock", next_due_at=ago(hours=2))
        evaluate()
        opened = open_alerts()
        on_run_finished(job_id=ORDERS, status="succeeded")

        assert opened == [("missed_window", "shop.stock")]
        assert open_alerts() == opened


def test_the_job_evaluates_and_says_what_it_did(orders) -> None:
    from jobs.jobs import evaluate_alerts

    on_time(next_due_at=ago(hours=2))

    summary = evaluate_alerts(None)

    assert summary["opened"] == 1
    assert summary["open"] == 1
