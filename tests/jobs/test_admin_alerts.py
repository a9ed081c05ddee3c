"""The pages of alerts."""

from __future__ import annotations

import datetime as dt

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from jobs.alerts.runbook import RUNBOOK
from jobs.models import Alert, AuditLog, JobRun, JobState
from jobs.models.alert import AlertRule
from jobs.reads.links import object_path
from tests.factories import AlertFactory, UserFactory, give

ALERTS = "/admin/jobs/alert/"
ACKNOWLEDGE = f"{ALERTS}verb/acknowledge/"


@pytest.fixture
def operator(db) -> Client:
    """The browser of somebody who may see and acknowledge alerts."""
    return browser("jobs.view_alert", "jobs.acknowledge_alert")


@pytest.fixture
def observer(db) -> Client:
    """The browser of somebody who may see alerts only."""
    return browser("jobs.view_alert")


def browser(*permissions: str) -> Client:
    user = UserFactory(username="anna")
    give(user, *permissions)
    client = Client()
    client.force_login(user)
    return client


def page_of(alert: Alert) -> str:
    return object_path(Alert, alert.pk)


def text_of(response) -> str:
    assert response.status_code == 200
    return response.content.decode()


def later(**units: float) -> dt.datetime:
    return timezone.now() + dt.timedelta(**units)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["resolved", "lapsed", "until", "known", "new"]),
        ("state=open", ["lapsed", "until", "known", "new"]),
        ("state=unknown", ["lapsed", "new"]),
        ("state=acknowledged", ["until", "known"]),
        ("state=resolved", ["resolved"]),
        ("rule=stalled", ["until"]),
        ("q=subject:known", ["known"]),
    ],
)
def test_filters_and_searches_show_exactly_the_alerts_they_name(operator, query, expected):
    now = timezone.now()
    AlertFactory(subject="new")
    AlertFactory(subject="known", acknowledged_at=now)
    AlertFactory(
        subject="until", rule="stalled", acknowledged_at=now, acknowledged_until=later(hours=1)
    )
    AlertFactory(subject="lapsed", acknowledged_at=now, acknowledged_until=later(hours=-1))
    AlertFactory(subject="resolved", resolved_at=now)

    response = operator.get(f"{ALERTS}?{query}")

    assert [row.subject for row in response.context["cl"].result_list] == expected
    text_of(response)


def test_without_alerts_the_list_says_that_nothing_is_wrong(operator):
    assert "Nothing is wrong, and nothing was." in text_of(operator.get(ALERTS))


def test_an_alert_shows_what_opened_it_what_closes_it_and_who_was_told(operator):
    alert = AlertFactory(
        evidence={"run_ids": [17, 18, 19], "failures": 3},
        notifications=[
            {
                "event": "opened", "channel": "webhook", "at": "2026-11-30T12:00:00+00:00",
                "ok": False, "tries": 3, "detail": "answered 502",
            },
            {"event": "opened", "channel": "log", "ok": True},
            {"event": "opened", "channel": "email"},
        ],
    )  # fmt: skip

    text = text_of(operator.get(page_of(alert)))

    for words in (
        "3 scheduled runs in a row failed", "One scheduled run succeeds.",
        RUNBOOK[AlertRule.CONSECUTIVE_FAILURES], f'href="{object_path(JobRun, 19)}"',
        f'href="{object_path(JobState, "emails.processor")}"', "webhook", "answered 502",
        "12:00:00 UTC", "told", "no answer yet", "failures",
    ):  # fmt: skip
        assert words in text


def test_every_rule_has_a_line_that_says_what_to_do():
    assert set(RUNBOOK) == set(AlertRule)
    assert all(line.strip() for line in RUNBOOK.values())


@pytest.mark.parametrize(
    ("rule", "subject", "evidence", "path"),
    [
        ("no_worker", "-", {}, "/admin/jobs/worker/"),
        ("dead_letter_depth", "email_jobs", {"count": 2}, "/admin/emails/emailjob/?status=dead"),
        ("dead_letter_depth", "no_such_table", {}, ""),
        ("stalled", "email_jobs", {"job_id": "emails.processor"}, "job:emails.processor"),
        ("missed_window", "emails.processor", {}, "job:emails.processor"),
        ("backup_older_than_rpo", "main database", {}, ""),
    ],
)
def test_an_alert_leads_to_what_it_is_about(operator, rule, subject, evidence, path):
    alert = AlertFactory(rule=rule, subject=subject, evidence=evidence)
    if path.startswith("job:"):
        path = object_path(JobState, path.removeprefix("job:"))

    listed, page = operator.get(ALERTS), operator.get(page_of(alert))

    assert page.context["subject_path"] == path
    if path:
        assert f'href="{path}"' in text_of(listed)


def test_acknowledging_keeps_the_note_and_until_when_and_acts_once(operator):
    alert = AlertFactory()
    assert f'href="{ACKNOWLEDGE}?ids={alert.pk}"' in text_of(operator.get(page_of(alert)))
    sent = {"ids": alert.pk, "reason": "being moved", "until": "2199-01-02T03:04"}

    for _ in range(2):
        response = operator.post(ACKNOWLEDGE, sent, follow=True)
        assert response.redirect_chain == [(page_of(alert), 302)]

    alert.refresh_from_db()
    assert (alert.acknowledged_by, alert.note) == ("anna", "being moved")
    assert alert.acknowledged_until == dt.datetime(2199, 1, 2, 3, 4, tzinfo=dt.UTC)
    assert AuditLog.objects.get().target == f"alerts {alert.pk}"
    assert LogEntry.objects.get().change_message == "acknowledged: being moved"
    assert "acknowledged" in text_of(operator.get(f"{ALERTS}?state=acknowledged"))


def test_the_time_is_utc_whatever_the_zone_of_the_project(operator, settings):
    settings.TIME_ZONE = "America/New_York"
    alert = AlertFactory()

    operator.post(ACKNOWLEDGE, {"ids": alert.pk, "reason": "x", "until": "2199-01-02T03:04"})

    alert.refresh_from_db()
    assert alert.acknowledged_until == dt.datetime(2199, 1, 2, 3, 4, tzinfo=dt.UTC)


def test_a_time_that_is_past_is_refused(operator):
    alert = AlertFactory()

    response = operator.post(
        ACKNOWLEDGE, {"ids": alert.pk, "reason": "x", "until": "2001-01-02T03:04"}
    )

    assert "That is past: name a later time." in text_of(response)
    alert.refresh_from_db()
    assert alert.acknowledged_at is None


def test_several_alerts_are_acknowledged_and_resolved_ones_left_alone(operator):
    first, second = AlertFactory(), AlertFactory(subject="shop.orders")
    resolved = AlertFactory(subject="other", resolved_at=timezone.now())
    ids = f"{first.pk},{second.pk},{resolved.pk}"

    shown = text_of(operator.get(f"{ACKNOWLEDGE}?ids={ids}"))
    response = operator.post(ACKNOWLEDGE, {"ids": ids, "reason": "known"}, follow=True)

    assert "2 alerts." in shown
    assert "1 of the selected are not in a state for it" in shown
    assert "2 alerts acknowledged." in text_of(response)
    assert Alert.objects.filter(acknowledged_at__isnull=False).count() == 2
    assert AuditLog.objects.count() == 2


def test_without_the_permission_there_is_no_button_and_no_acknowledging(observer):
    alert = AlertFactory()

    assert "Acknowledge" not in text_of(observer.get(page_of(alert)))
    assert "acknowledge_selected" not in text_of(observer.get(ALERTS))
    answer = observer.post(ACKNOWLEDGE, {"ids": alert.pk, "reason": "x"})
    assert answer.status_code == 403
    assert not AuditLog.objects.exists()
