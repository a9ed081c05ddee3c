"""Who is told of an alert: the log, mail to ADMINS, a webhook; once each."""

from __future__ import annotations

import datetime as dt
import logging
import threading

import pytest
from django.core import mail
from django.db import connections
from django.utils import timezone

from jobs.alerts import channels as channels_module
from jobs.alerts.channels import Event, channels
from jobs.alerts.evaluate import evaluate
from jobs.alerts.hooks import debounce, on_run_finished
from jobs.alerts.notifying import Duty, deliver_due, due_duties
from jobs.models import Alert, JobState
from tests.conftest import wait_until
from tests.jobs.alerting import (
    ORDERS,
    Webhook,
    ago,
    declared,
    on_time,
    only_declared,
    scheduled_run,
    worker,
)
from tests.testapp.models import Parcel

NOW = dt.datetime(2026, 3, 10, 12, 0, tzinfo=dt.UTC)
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def orders(transactional_db):
    worker()
    with only_declared(), declared():
        on_time()
        yield ORDERS


@pytest.fixture
def webhook(settings):
    hook = Webhook()
    settings.ALERT_WEBHOOK_URL = hook.url
    yield hook
    hook.close()


@pytest.fixture
def admins(settings):
    settings.ADMINS = [("Anna", "anna@example.com"), "ben@example.com"]
    settings.PUBLIC_URL = "https://shop.example.com"
    return settings


def break_schedule() -> None:
    on_time(next_due_at=ago(hours=2))


def notifications() -> list[tuple[str, str, bool | None, int]]:
    (entries,) = Alert.objects.values_list("notifications", flat=True)
    return [(item["event"], item["channel"], item["ok"], item["tries"]) for item in entries]


def test_mail_goes_to_the_admins_once_at_the_opening_and_once_at_the_resolving(
    orders, admins
) -> None:
    for _ in range(3):
        scheduled_run("failed")
    for _ in range(3):
        evaluate()
    opened = list(mail.outbox)
    scheduled_run("succeeded")
    for _ in range(3):
        evaluate()

    assert [message.subject for message in mail.outbox] == [
        f"[Django] Alert: consecutive_failures {ORDERS}",
        f"[Django] Resolved: consecutive_failures {ORDERS}",
    ]
    assert opened[0].to == ["anna@example.com", "ben@example.com"]
    assert "3 scheduled runs in a row failed" in opened[0].body
    assert "Closes when: One scheduled run succeeds." in opened[0].body


def test_the_webhook_gets_each_event_once_as_json(orders, webhook) -> None:
    break_schedule()
    for _ in range(3):
        evaluate()
    slot = ago(hours=2)
    scheduled_run("succeeded", scheduled_for=slot)
    on_time(accounted_until=slot)
    for _ in range(3):
        evaluate()

    opened, resolved = webhook.received
    assert (opened["event"], opened["rule"], opened["subject"]) == (
        "opened",
        "missed_window",
        ORDERS,
    )
    assert opened["resolved_at"] is None
    assert (resolved["event"], resolved["id"]) == ("resolved", opened["id"])
    assert resolved["resolved_at"].endswith("Z")


def test_a_webhook_that_failed_is_tried_once_more_by_the_next_evaluation(orders, webhook) -> None:
    webhook.status = 500
    break_schedule()

    for _ in range(4):
        evaluate()

    assert len(webhook.received) == 2
    assert ("opened", "webhook", False, 2) in notifications()
    (entries,) = Alert.objects.values_list("notifications", flat=True)
    assert "answered 500" in entries[-1]["detail"]


def test_a_webhook_that_works_again_at_the_second_try_is_told_no_third_time(
    orders, webhook
) -> None:
    webhook.status = 503
    break_schedule()
    evaluate()
    webhook.status = 200

    for _ in range(3):
        evaluate()

    assert len(webhook.received) == 2
    assert ("opened", "webhook", True, 2) in notifications()


def test_a_redirect_is_not_followed_and_is_no_success(orders, webhook) -> None:
    webhook.status = 302
    webhook.location = webhook.url
    break_schedule()

    evaluate()

    assert [item.get("event") for item in webhook.received] == ["opened"]
    assert ("opened", "webhook", False, 1) in notifications()


def test_a_webhook_that_does_not_answer_holds_nobody_up_and_holds_no_lock(
    orders, webhook, monkeypatch
) -> None:
    webhook.release.clear()
    break_schedule()
    done = threading.Event()

    def one() -> None:
        try:
            evaluate()
        finally:
            connections.close_all()
            done.set()

    thread = threading.Thread(target=one)
    thread.start()
    wait_until(lambda: webhook.received, what="the webhook is asked")
    second = evaluate()  # goes through while the first one waits for the answer
    webhook.release.set()
    thread.join(20)

    assert done.is_set()
    assert second.opened == ()
    assert len(webhook.received) == 1
    wait_until(lambda: ("opened", "webhook", True, 1) in notifications())


def test_a_silent_webhook_is_given_up_after_its_time_limit(orders, webhook, monkeypatch) -> None:
    monkeypatch.setattr(channels_module, "WEBHOOK_SECONDS", 0.2)
    webhook.release.clear()
    break_schedule()

    evaluate()

    assert ("opened", "webhook", False, 1) in notifications()
    (entries,) = Alert.objects.values_list("notifications", flat=True)
    assert "within 0.2 s" in entries[-1]["detail"] or "timed out" in entries[-1]["detail"]


def test_one_channel_that_fails_keeps_no_other_from_telling(
    orders, admins, webhook, caplog
) -> None:
    webhook.status = 500
    break_schedule()

    evaluate()

    assert len(mail.outbox) == 1
    assert "alert_opened rule=missed_window" in caplog.text


def test_every_notice_carries_the_address_of_its_alert_where_there_is_an_admin(
    orders, admins, webhook, monkeypatch
) -> None:
    address = "https://shop.example.com/admin/jobs/alert/7/change/"
    monkeypatch.setattr("jobs.alerts.notifying.admin_url", lambda model, key: address)
    break_schedule()

    evaluate()

    assert address in mail.outbox[0].body
    assert webhook.received[0]["admin_url"] == address


def test_a_project_without_the_admin_is_told_without_an_address(
    orders, admins, webhook, settings
) -> None:
    settings.ROOT_URLCONF = "jobs.health.urls"
    break_schedule()

    evaluate()

    assert len(mail.outbox) == 1
    assert webhook.received[0]["admin_url"] == ""


def test_only_the_configured_channels_are_used(settings) -> None:
    settings.ADMINS = []
    settings.ALERT_WEBHOOK_URL = ""

    assert [channel.name for channel in channels()] == ["log"]


def test_four_processes_at_once_tell_each_channel_once(orders, admins, webhook) -> None:
    break_schedule()
    start = threading.Barrier(4)

    def one() -> None:
        try:
            start.wait(10)
            evaluate()
        finally:
            connections.close_all()

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert len(webhook.received) == 1
    assert len(mail.outbox) == 1


def test_at_the_end_of_a_queues_pass_only_the_log_is_told_and_the_rest_a_little_later(
    transactional_db, admins, caplog
) -> None:
    debounce._said.clear()
    worker()
    JobState.objects.create(job_id="testapp.parcels", last_tick_at=timezone.now())
    Parcel.objects.create(address="Elm Street 1", status="failed")
    with only_declared("testapp.parcels"):
        on_run_finished(job_id="testapp.parcels", status="succeeded", output={"dead": 1})
        at_once = len(mail.outbox)
        logged = caplog.text.count("alert_opened rule=dead_letter_depth")
        deliver_due()

    assert (at_once, logged, len(mail.outbox)) == (0, 1, 1)
    assert caplog.text.count("alert_opened rule=dead_letter_depth") == 1


def test_an_opening_that_a_dying_process_took_is_told_by_another_after_a_minute(
    orders, admins
) -> None:
    taken = {"event": "opened", "channel": "mail", "ok": None, "tries": 1, "detail": ""}
    alert = Alert.objects.create(
        rule="missed_window",
        subject=ORDERS,
        notifications=[taken | {"at": timezone.now().isoformat()}],
    )

    deliver_due()
    at_once = len(mail.outbox)
    alert.notifications = [taken | {"at": ago(seconds=61).isoformat()}]
    alert.save()
    deliver_due()

    assert (at_once, len(mail.outbox)) == (0, 1)


def test_old_news_is_not_told(orders, admins) -> None:
    Alert.objects.create(
        rule="missed_window",
        subject=ORDERS,
        resolved_at=ago(hours=2),
        notifications=[
            {"event": "opened", "channel": "mail", "ok": True, "tries": 1, "at": "", "detail": ""}
        ],
    )

    assert deliver_due() == 0


def test_an_alert_resolved_before_a_channel_heard_of_it_is_no_news_there_but_for_the_log() -> None:
    duties = list(due_duties([], is_resolved=True, channel_names=["log", "mail"], now=NOW))

    assert duties == [
        Duty(event=Event.OPENED, channel="log"),
        Duty(event=Event.RESOLVED, channel="log"),
    ]


def test_an_open_alert_that_was_told_everywhere_has_no_duty_left() -> None:
    told = [
        {"event": "opened", "channel": name, "ok": True, "tries": 1, "at": NOW.isoformat()}
        for name in ("log", "mail")
    ]

    names = ["log", "mail"]
    assert list(due_duties(told, is_resolved=False, channel_names=names, now=NOW)) == []
    assert [
        duty.event for duty in due_duties(told, is_resolved=True, channel_names=names, now=NOW)
    ] == [Event.RESOLVED, Event.RESOLVED]


def test_the_log_tells_an_opening_as_an_error_and_a_resolving_as_information(
    orders, caplog
) -> None:
    caplog.set_level(logging.INFO)
    break_schedule()
    evaluate()
    with only_declared():
        evaluate()

    levels = {
        record.getMessage().split()[0]: record.levelname
        for record in caplog.records
        if record.getMessage().startswith("alert_")
    }
    assert levels == {"alert_opened": "ERROR", "alert_resolved": "INFO"}
