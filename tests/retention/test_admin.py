"""The page Retention: who may change what, and what is refused there."""

from __future__ import annotations

import pytest
from django.urls import reverse

from jobs.groups import ADMINISTRATOR, OBSERVER, OPERATOR, console_groups
from jobs.models import AuditLog, JobRun
from retention.models import TargetConfig
from tests.factories import AlertFactory, UserFactory, give
from tests.retention.conftest import days_ago

pytestmark = pytest.mark.django_db
LIST = "/admin/retention/targetconfig/"
ALERTS = f"{LIST}jobs.alerts/change/"
RANGE = "write a whole number of days from 0 to 3650"
CHANGE, VIEW = "retention.change_targetconfig", "retention.view_targetconfig"


@pytest.fixture
def administrator(client, configure):
    user = UserFactory(is_staff=True)
    give(user, CHANGE, VIEW)
    client.force_login(user)
    return user


def days() -> int | None:
    return TargetConfig.objects.get(pk="jobs.alerts").days


@pytest.mark.parametrize("given", ["-1", "3651", "1.5", "abc", "7.0", "1e2"])
def test_days_out_of_the_range_are_refused_with_the_range(client, administrator, given):
    answer = client.post(ALERTS, {"days": given, "enabled": "on"})

    assert answer.status_code == 200
    assert RANGE in answer.content.decode()
    assert f'value="{given}"' in answer.content.decode()
    assert days() is None
    assert not AuditLog.objects.exists()


@pytest.mark.parametrize(("given", "kept"), [("30", 30), ("0", 0), ("", None), (" 7 ", 7)])
def test_days_are_saved_and_audited(client, administrator, configure, given, kept):
    configure(jobs_alerts=365)

    answer = client.post(ALERTS, {"days": given, "enabled": "on", "reason": "full disk"})

    assert answer.status_code == 302
    assert days() == kept
    entry = AuditLog.objects.get()
    assert (entry.actor, entry.verb, entry.target, entry.reason) == (
        administrator.get_username(),
        "set_retention",
        "retention_targets jobs.alerts",
        "full disk",
    )
    assert entry.detail == {
        "from": {"days": 365, "enabled": True},
        "to": {"days": kept, "enabled": True},
    }


def test_saving_what_is_there_already_is_no_action(client, administrator, configure):
    configure(jobs_alerts=7)

    client.post(ALERTS, {"days": "7", "enabled": "on", "reason": "again"})

    assert not AuditLog.objects.exists()


def test_a_target_can_be_switched_off_and_keeps_its_days(client, administrator, configure):
    configure(jobs_alerts=7)

    client.post(ALERTS, {"days": "7"})

    assert TargetConfig.objects.filter(pk="jobs.alerts", days=7, enabled=False).exists()


def test_the_pages_say_what_empty_and_zero_mean(client, administrator):
    for page in (LIST, ALERTS):
        text = " ".join(client.get(page).content.decode().split())
        assert "at the next sweep" in text
        assert "for ever" in text


def test_the_list_has_a_line_per_declared_target_with_the_last_sweep(
    client, administrator, configure
):
    configure(jobs_alerts=7, emails_sent=0)
    run = JobRun.objects.create(
        job_id="retention.sweep",
        trigger="schedule",
        status="failed",
        started_at=days_ago(0.1),
        finished_at=days_ago(0.1),
        output={
            "jobs.alerts": {"deleted": 12_000, "batches": 6, "truncated": True},
            "emails.sent": {"deleted": 0, "batches": 0, "truncated": False, "error": "locked"},
        },
    )

    text = client.get(LIST).content.decode()

    for words in ("Resolved alerts", "12,000, more is due", "locked", "for ever", "7 days"):
        assert words in text
    assert reverse("admin:jobs_jobrun_change", args=[run.pk]) in text


def test_a_target_that_nobody_declares_any_more_is_said_to_be(client, administrator):
    TargetConfig.objects.create(name="shop.carts", days=1)

    assert "No installed app declares it any more." in client.get(LIST).content.decode()


def test_preview_counts_and_deletes_nothing(client, administrator, configure):
    AlertFactory(resolved_at=days_ago(10))
    configure(jobs_alerts=7)

    text = client.get(f"{LIST}preview/").content.decode()

    assert '<td class="console-number">1</td>' in text
    AlertFactory._meta.model.objects.get()


def test_who_may_only_see_cannot_change(client, configure):
    user = UserFactory(is_staff=True)
    give(user, VIEW)
    client.force_login(user)

    assert client.get(LIST).status_code == client.get(ALERTS).status_code == 200
    assert client.post(ALERTS, {"days": "1", "enabled": "on"}).status_code == 403
    assert days() is None


def test_nobody_adds_or_deletes_targets_by_hand(client, administrator):
    give(administrator, "retention.add_targetconfig", "retention.delete_targetconfig")

    assert client.get(f"{LIST}add/").status_code == 403
    assert client.post(f"{LIST}jobs.alerts/delete/", {"post": "yes"}).status_code == 403


def test_days_are_configuration_of_administrators_that_others_see():
    may = {group.name: group.permissions for group in console_groups()}

    assert CHANGE in may[ADMINISTRATOR]
    for name in (OBSERVER, OPERATOR):
        assert VIEW in may[name]
        assert CHANGE not in may[name]
    assert "jobs.schedule_job" in may[ADMINISTRATOR] - may[OPERATOR]
