"""``manage.py retention run`` and ``preview``."""

from __future__ import annotations

import pytest
from django.contrib.sessions.models import Session

from jobs.models import Alert, AuditLog, JobRun
from tests.factories import ActivityLogFactory, AlertFactory, JobRunFactory
from tests.jobs.commanding import manage
from tests.retention.conftest import alerts_missing, days_ago


def retention(*arguments: object):
    return manage("retention", *arguments, app="retention")


@pytest.fixture
def old_alerts(configure) -> None:
    for age in (10, 20, 0):
        AlertFactory(subject=str(age), resolved_at=days_ago(age))
    configure(jobs_alerts=7)


@pytest.mark.django_db
def test_preview_counts_and_deletes_nothing(old_alerts):
    ended = retention("preview")

    assert ended.code == 0
    assert ended.lines[0].split()[:2] == ["TARGET", "DUE"]
    assert ended.lines[1].split()[:2] == ["jobs.alerts", "2"]
    assert Alert.objects.count() == 3
    assert not JobRun.objects.exists()


@pytest.mark.django_db
def test_preview_as_json_says_what_is_due_and_since_when(old_alerts):
    (item,) = retention("preview", "--json").json["items"]

    assert (item["id"], item["due"], item["is_capped"], item["error"]) == (
        "jobs.alerts", 2, False, "",
    )  # fmt: skip
    assert item["cutoff"].endswith("Z")
    assert item["admin_url"].endswith("/admin/retention/targetconfig/jobs.alerts/change/")


@pytest.mark.django_db
def test_preview_can_name_rows_of_the_hourly_clean_up(db):
    Session.objects.create(session_key="old", expire_date=days_ago(1))

    (item,) = retention("preview", "--json", "--target", "sessions").json["items"]

    assert (item["id"], item["due"]) == ("sessions", 1)
    assert Session.objects.exists()


@pytest.mark.django_db
def test_preview_of_a_target_that_cannot_be_counted_exits_1(old_alerts):
    with alerts_missing():
        ended = retention("preview")

    assert ended.code == 1
    assert 'relation "alerts" does not exist' in ended.out


@pytest.mark.django_db(transaction=True)
def test_a_run_deletes_and_is_in_the_ledger_and_the_audit_as_run_by_hand(old_alerts):
    ended = retention("run", "--yes", "--json", "--reason", "the disk is full")

    assert ended.code == 0
    (item,) = ended.json["items"]
    run = JobRun.objects.get()
    assert (item["id"], item["deleted"], item["batches"], item["truncated"]) == (
        "jobs.alerts", 2, 1, False,
    )  # fmt: skip
    assert item["run_id"] == run.pk
    assert (run.job_id, run.trigger, run.status, run.reason) == (
        "retention.sweep", "manual", "succeeded", "the disk is full",
    )  # fmt: skip
    entry = AuditLog.objects.get()
    assert (entry.verb, entry.target, entry.detail) == (
        "run", "job_states retention.sweep", {"run_id": run.pk},
    )  # fmt: skip
    assert Alert.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_run_of_named_targets_leaves_the_others(old_alerts, configure):
    ActivityLogFactory(at=days_ago(10))
    Session.objects.create(session_key="old", expire_date=days_ago(1))
    configure(jobs_activity=7)

    ended = retention("run", "--yes", "--json", "--target", "jobs.activity", "sessions")

    assert [(item["id"], item["deleted"]) for item in ended.json["items"]] == [
        ("jobs.activity", 1),
        ("sessions", 1),
    ]
    assert Alert.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_a_run_with_an_error_exits_1_and_says_what_was_swept(old_alerts, configure):
    ActivityLogFactory(at=days_ago(10))
    configure(jobs_activity=7)

    with alerts_missing():
        ended = retention("run", "--yes")

    assert ended.code == 1
    lines = {line.split()[0]: line for line in ended.lines}
    assert lines["jobs.activity"].split()[1:4] == ["1", "1", "no"]
    assert 'relation "alerts" does not exist' in lines["jobs.alerts"]
    assert "failed" in ended.err


@pytest.mark.django_db
def test_a_dry_run_deletes_nothing(old_alerts):
    ended = retention("run", "--dry-run")

    assert ended.code == 0
    assert "jobs.alerts" in ended.out
    assert Alert.objects.count() == 3


@pytest.mark.django_db
def test_a_run_asks_and_needs_yes_where_nobody_can_be_asked(old_alerts):
    ended = retention("run")

    assert ended.code == 2
    assert "--yes" in ended.err
    assert Alert.objects.count() == 3


@pytest.mark.django_db
def test_an_unknown_target_is_refused_and_the_nearest_is_named(configure):
    ended = retention("preview", "--target", "jobs.alert")

    assert ended.code == 2
    assert "did you mean jobs.alerts?" in ended.err


@pytest.mark.django_db
def test_a_target_without_days_is_not_swept_by_its_name_either(configure):
    ended = retention("run", "--yes", "--target", "jobs.alerts")

    assert ended.code == 1
    assert "jobs.alerts is not swept: give it a number of days" in ended.err


@pytest.mark.django_db
def test_nothing_configured_is_said_and_no_run(configure):
    ended = retention("run", "--yes")

    assert ended.code == 0
    assert "everything is kept for ever" in ended.err
    assert not JobRun.objects.exists()


@pytest.mark.django_db
def test_a_second_run_at_the_same_time_is_refused(old_alerts):
    going_on = JobRunFactory(job_id="retention.sweep", running=True)

    ended = retention("run", "--yes")

    assert ended.code == 1
    assert f"Run {going_on.pk} of retention.sweep goes on" in ended.err
    assert f"manage.py jobs cancel {going_on.pk}" in ended.err
