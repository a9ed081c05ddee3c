"""Alerts through the database: what opens, what resolves, once each."""

from __future__ import annotations

import datetime as dt
import logging
import threading

import pytest
from django.db import connections, transaction
from django.utils import timezone

from jobs import pausing
from jobs.alerts import judging
from jobs.alerts.acknowledge import acknowledge
from jobs.alerts.backups import BackupState, declare_backup, withdraw_backup
from jobs.alerts.errors import (
    PastAcknowledgementError,
    ResolvedAlertError,
    UnknownAlertError,
)
from jobs.alerts.evaluate import evaluate
from jobs.alerts.hooks import debounce, on_run_finished
from jobs.alerts.movement import declare_progress, withdraw_progress
from jobs.deadletters import (
    DeadLetterQueue,
    count_dead,
    dead_letter_queues,
    declare_dead_letters,
    withdraw_dead_letters,
)
from jobs.models import Alert, AuditLog, JobRun, JobState
from jobs.models.alert import AlertRule
from jobs.reads.alerts import get_alert, list_alerts
from jobs.testing import database_clock, run_once
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
from tests.testapp.models import Parcel

PARCELS = "testapp_parcels"
PARCEL_JOB = "testapp.parcels"


@pytest.fixture
def orders(db):
    """One declared job, on time, with a worker alive."""
    worker()
    with only_declared(), declared():
        on_time()
        yield ORDERS


@pytest.fixture
def parcels(db):
    """The queue of parcels and nothing else, polled just now by a worker that is alive."""
    worker()
    JobState.objects.create(job_id=PARCEL_JOB, last_tick_at=timezone.now())
    with only_declared(PARCEL_JOB):
        yield Parcel


def parcel(status: str = "pending", **fields) -> Parcel:
    row = Parcel.objects.create(address="Elm Street 1")
    claim = {}
    if status == "processing":
        claim = {
            "claimed_at": timezone.now(),
            "claimed_by": "w",
            "claim_token": "5e6b6e0e-0000-4000-8000-000000000000",
            "begun_at": ago(minutes=11),
        }
    Parcel.objects.filter(pk=row.pk).update(status=status, **(claim | fields))
    row.refresh_from_db()
    return row


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


def test_dead_letters_open_at_the_queues_own_threshold_and_close_below_it(parcels) -> None:
    parcel("failed")
    parcel("failed", next_retry_at=timezone.now())
    evaluate()
    by_policy = open_alerts()
    declare_dead_letters(
        DeadLetterQueue(
            queue=PARCELS, rows=lambda: Parcel.objects.filter(status="failed"), threshold=3
        )
    )
    try:
        evaluate()
        by_declaration = open_alerts()
    finally:
        withdraw_dead_letters(PARCELS)

    assert by_policy == [("dead_letter_depth", PARCELS)]
    assert by_declaration == []
    assert "below the threshold of 3" in Alert.objects.get().resolution


def test_a_row_that_will_be_retried_is_no_dead_letter(parcels) -> None:
    parcel("failed", next_retry_at=timezone.now() + dt.timedelta(hours=1))

    evaluate()

    assert open_alerts() == []


def test_dead_letters_are_counted_up_to_a_cap(parcels) -> None:
    for _ in range(4):
        parcel("failed")
    (queue,) = dead_letter_queues()

    assert count_dead(queue, cap=3).value == 3
    assert count_dead(queue, cap=3).is_capped
    assert not count_dead(queue, cap=4).is_capped


def test_a_queue_that_finishes_nothing_for_ten_minutes_is_stalled_until_a_row_is_done(
    parcels,
) -> None:
    row = parcel("processing")
    parcel("processing")
    evaluate()
    opened = open_alerts()

    scheduled_run("succeeded", job_id=PARCEL_JOB, output={"claimed": 1, "done": 1})
    Parcel.objects.filter(pk=row.pk).update(
        status="done", claimed_at=None, claimed_by=None, claim_token=None, begun_at=None
    )
    evaluate()

    assert opened == [("stalled", PARCELS)]
    assert open_alerts() == []


def test_a_pass_that_claimed_and_finished_nothing_ends_no_stall(parcels) -> None:
    parcel("processing")
    evaluate()
    scheduled_run("succeeded", job_id=PARCEL_JOB, output={"claimed": 3, "lost": 3})

    evaluate()

    assert open_alerts() == [("stalled", PARCELS)]


def test_a_pass_that_goes_on_ends_a_stall_when_its_counts_change(parcels) -> None:
    parcel("processing")
    going_on = scheduled_run(
        "running",
        job_id=PARCEL_JOB,
        finished_at=None,
        lease_expires_at=timezone.now() + dt.timedelta(minutes=1),
        output={"claimed": 2, "done": 1},
    )
    with declared("jobs.alerts"):
        run_alerts()
        opened = open_alerts()
        run_alerts()
        still = open_alerts()
        JobRun.objects.filter(pk=going_on.pk).update(output={"claimed": 2, "done": 2})
        run_alerts()

    assert opened == still
    assert ("stalled", PARCELS) in opened
    assert ("stalled", PARCELS) not in open_alerts()


def test_progress_that_an_app_declares_ends_a_stall(parcels) -> None:
    parcel("processing")
    progress = {"deleted": 1}
    declare_progress(PARCELS, lambda: progress)
    try:
        run_alerts()
        opened = open_alerts()
        progress["deleted"] = 2
        run_alerts()
    finally:
        withdraw_progress(PARCELS)

    assert ("stalled", PARCELS) in opened
    assert ("stalled", PARCELS) not in open_alerts()


def run_alerts() -> None:
    """Evaluate as the job does, so that its summary is in the ledger."""
    JobRun.objects.create(
        job_id="jobs.alerts",
        trigger="schedule",
        status="succeeded",
        started_at=timezone.now(),
        finished_at=timezone.now(),
        output=evaluate().summary(),
    )


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


def test_pausing_a_queues_job_closes_the_alerts_about_its_queue(parcels) -> None:
    parcel("failed")
    evaluate()

    pausing.pause(PARCEL_JOB, actor="anna", reason="the bank is down")
    evaluate()

    assert open_alerts() == []


def test_a_job_that_is_no_longer_declared_closes_its_alerts(db) -> None:
    worker()
    with only_declared():
        with declared():
            on_time(next_due_at=ago(hours=2))
            evaluate()
        evaluate()

    assert Alert.objects.get().resolution == "It is no longer declared."


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


def test_a_day_later_by_the_databases_clock_a_daily_job_is_missed(orders) -> None:
    on_time()
    evaluate()
    before = open_alerts()

    with database_clock(timezone.now() + dt.timedelta(days=1)) as clock:
        worker(name="web-2:1:aa", heartbeat=clock.at, started_at=ago(hours=1))
        evaluate()

    assert before == []
    assert open_alerts() == [("missed_window", ORDERS)]


def test_acknowledging_writes_who_why_until_when_and_one_row_of_the_audit(
    orders, django_user_model
) -> None:
    anna = django_user_model.objects.create_user("anna")
    on_time(next_due_at=ago(hours=2))
    (alert_id,) = evaluate().opened
    until = timezone.now() + dt.timedelta(hours=1)

    first = acknowledge(alert_id, actor=anna, note="on it", until=until)
    again = acknowledge(alert_id, actor=anna, note="on it", until=until)

    assert (first, again) == (True, False)
    item = get_alert(alert_id)
    assert item is not None
    assert (item.acknowledged_by, item.note, item.is_acknowledged) == ("anna", "on it", True)
    audit = AuditLog.objects.get()
    assert (audit.actor, audit.verb, audit.target) == ("anna", "acknowledge", f"alerts {alert_id}")


def test_an_acknowledgement_and_its_audit_are_rolled_back_together(orders) -> None:
    on_time(next_due_at=ago(hours=2))
    (alert_id,) = evaluate().opened

    with transaction.atomic():
        acknowledge(alert_id, actor=None, note="on it", until=None)
        transaction.set_rollback(True)

    assert Alert.objects.get().acknowledged_at is None
    assert not AuditLog.objects.exists()


def test_a_resolved_or_unknown_alert_cannot_be_acknowledged_nor_one_until_the_past(orders) -> None:
    on_time(next_due_at=ago(hours=2))
    (alert_id,) = evaluate().opened

    with pytest.raises(PastAcknowledgementError):
        acknowledge(alert_id, actor=None, note="", until=ago(minutes=1))
    with pytest.raises(UnknownAlertError):
        acknowledge(alert_id + 1, actor=None, note="")
    Alert.objects.update(resolved_at=timezone.now())
    with pytest.raises(ResolvedAlertError):
        acknowledge(alert_id, actor=None, note="")


def test_alerts_are_listed_newest_first_by_state_and_rule(orders) -> None:
    on_time(next_due_at=ago(hours=2))
    for _ in range(3):
        scheduled_run("failed")
    evaluate()
    Alert.objects.filter(rule="missed_window").update(resolved_at=timezone.now())

    (still_open,) = list_alerts().items
    (resolved,) = list_alerts(state="resolved").items

    assert (still_open.rule, still_open.state) == ("consecutive_failures", "open")
    assert len(still_open.evidence_run_ids) == 3
    assert still_open.closes_when == "One scheduled run succeeds."
    assert (resolved.rule, resolved.state) == ("missed_window", "resolved")
    assert len(list_alerts(state="").items) == 2
    assert list_alerts(state="", rule="stalled").items == ()
