"""What a sweep deletes, what it leaves, and what it says of it."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db.models import Q

from deletions.models import BucketDeletionJob, UserDeletion, UserDeletionStep
from emails.models import EmailBody, EmailJob
from jobs import pruning
from jobs.models import ActivityLog, Alert, JobRun
from jobs.pruning import RetentionTarget
from jobs.testing import database_clock
from retention.sweep import configured_targets, sweep
from tests.factories import (
    ActivityLogFactory,
    AlertFactory,
    EmailBodyFactory,
    EmailJobFactory,
    JobRunFactory,
)
from tests.factories.buckets import BucketDeletionJobFactory
from tests.factories.deletions import UserDeletionFactory
from tests.retention.conftest import alerts_missing, context_of, days_ago, summary_of, swept

pytestmark = pytest.mark.django_db
NOON = dt.datetime(2026, 12, 1, 12, tzinfo=dt.UTC)


def alerts(*ages: float) -> list[Alert]:
    return [AlertFactory(subject=str(age), resolved_at=days_ago(age)) for age in ages]


@pytest.mark.django_db(transaction=True)
def test_what_is_older_than_its_days_goes_and_the_rest_stays(configure):
    _old, young = alerts(31, 29)
    configure(jobs_alerts=30)

    run = swept()

    assert run.status == "succeeded"
    assert run.output == {"jobs.alerts": {"deleted": 1, "batches": 1, "truncated": False}}
    assert list(Alert.objects.all()) == [young]


def test_a_target_without_days_is_kept_for_ever_and_is_no_part_of_the_summary(configure):
    alerts(3650)
    configure(jobs_alerts=None)

    assert summary_of() == {}
    assert Alert.objects.count() == 1


def test_zero_days_delete_everything_at_the_next_sweep(configure):
    alerts(0.0001)
    configure(jobs_alerts=0)

    assert summary_of()["jobs.alerts"]["deleted"] == 1


def test_a_target_that_is_switched_off_is_left_alone_whatever_its_days(configure):
    alerts(100)
    configure(jobs_alerts=1, enabled=False)

    assert summary_of() == {}
    assert Alert.objects.count() == 1


def test_a_row_exactly_at_the_cutoff_stays(configure):
    AlertFactory(subject="at", resolved_at=NOON - dt.timedelta(days=7))
    AlertFactory(subject="before", resolved_at=NOON - dt.timedelta(days=7, microseconds=1))
    configure(jobs_alerts=7)

    with database_clock(NOON):
        summary_of()

    assert [alert.subject for alert in Alert.objects.all()] == ["at"]


@pytest.mark.django_db(transaction=True)
def test_five_targets_of_which_one_has_no_table_are_all_in_the_summary(configure):
    alerts(10)
    ActivityLogFactory(at=days_ago(10))
    EmailJobFactory(cancelled=True, created_at=days_ago(10))
    EmailJobFactory(sent=True, sent_at=days_ago(10))
    configure(jobs_alerts=1, jobs_activity=1, jobs_runs=1, emails_cancelled=1, emails_sent=1)

    with alerts_missing():
        run = swept()

    one = {"deleted": 1, "batches": 1, "truncated": False}
    assert run.status == "failed"
    missing = run.output.pop("jobs.alerts")
    assert 'relation "alerts" does not exist' in missing.pop("error")
    assert missing == {"deleted": 0, "batches": 0, "truncated": False}
    assert run.output == {
        "jobs.activity": one,
        "jobs.runs": {"deleted": 0, "batches": 0, "truncated": False},
        "emails.cancelled": one,
        "emails.sent": one,
    }
    assert "1 of 5 targets had an error: jobs.alerts" in run.error


def test_a_condition_that_raises_is_its_targets_own_error(configure, monkeypatch):
    def rows() -> Q:
        raise ValueError("the shop is closed")

    broken = RetentionTarget(
        name="jobs.alerts", label="Alerts", model=Alert, age_column="resolved_at", rows=rows
    )
    monkeypatch.setitem(pruning.targets._by_name, "jobs.alerts", broken)
    configure(jobs_alerts=1, jobs_activity=1)

    output = summary_of()

    assert output["jobs.alerts"]["error"] == "ValueError: the shop is closed"
    assert "error" not in output["jobs.activity"]


def test_a_condition_that_no_row_can_meet_deletes_nothing(configure, monkeypatch):
    nothing = RetentionTarget(
        name="jobs.alerts",
        label="Alerts",
        model=Alert,
        age_column="resolved_at",
        rows=Q(pk__in=[]),
    )
    monkeypatch.setitem(pruning.targets._by_name, "jobs.alerts", nothing)
    alerts(10)
    configure(jobs_alerts=1)

    assert summary_of()["jobs.alerts"] == {"deleted": 0, "batches": 0, "truncated": False}


def test_the_cap_of_batches_says_that_rows_are_left(configure, settings):
    settings.RETENTION_BATCH, settings.RETENTION_MAX_BATCHES = 2, 3
    alerts(*range(10, 20))
    configure(jobs_alerts=1)

    first, second = summary_of(), summary_of()

    assert first["jobs.alerts"] == {"deleted": 6, "batches": 3, "truncated": True}
    assert second["jobs.alerts"] == {"deleted": 4, "batches": 2, "truncated": False}


def test_a_cap_that_is_reached_with_the_last_row_has_cut_nothing(configure, settings):
    settings.RETENTION_BATCH, settings.RETENTION_MAX_BATCHES = 2, 3
    alerts(*range(10, 16))
    alerts(0)
    configure(jobs_alerts=1)

    assert summary_of()["jobs.alerts"] == {"deleted": 6, "batches": 3, "truncated": False}


def test_rows_of_one_age_are_all_deleted_however_small_the_batch(configure, settings):
    settings.RETENTION_BATCH = 3
    moment = days_ago(9)
    for place in range(10):
        AlertFactory(subject=str(place), resolved_at=moment)
    configure(jobs_alerts=1)

    assert summary_of()["jobs.alerts"] == {"deleted": 10, "batches": 4, "truncated": False}


def test_targets_that_a_run_does_not_reach_are_in_its_summary(configure):
    alerts(10)
    ActivityLogFactory(at=days_ago(0.5))
    configure(jobs_alerts=1, jobs_activity=1)
    context = context_of()
    context.stop.set()

    assert sweep(context, configured_targets()) == {
        "jobs.activity": {"deleted": 0, "batches": 0, "truncated": False},
        "jobs.alerts": {"deleted": 0, "batches": 0, "truncated": True},
    }
    assert Alert.objects.count() == 1


def test_the_body_of_sent_mail_goes_first_and_its_row_later(configure, settings):
    settings.RETENTION_BATCH = 2
    bodies = [
        EmailBodyFactory(email=EmailJobFactory(sent=True, sent_at=days_ago(age)))
        for age in (1, 8, 9, 10, 40)
    ]
    configure(emails_bodies=7, emails_sent=30)

    output = summary_of()

    assert output["emails.bodies"]["deleted"] == 4
    assert output["emails.sent"] == {"deleted": 1, "batches": 1, "truncated": False}
    assert list(EmailBody.objects.values_list("pk", flat=True)) == [bodies[0].pk]
    assert EmailJob.objects.count() == 4


def test_bodies_go_with_mail_of_one_age_however_much_it_is(configure, settings):
    settings.RETENTION_BATCH = 2
    moment = days_ago(10)
    for _ in range(7):
        EmailBodyFactory(email=EmailJobFactory(sent=True, sent_at=moment))
    kept = EmailBodyFactory()
    configure(emails_bodies=None, emails_sent=7)

    assert summary_of()["emails.sent"] == {"deleted": 7, "batches": 4, "truncated": False}
    assert list(EmailBody.objects.values_list("pk", flat=True)) == [kept.pk]
    assert list(EmailJob.objects.values_list("pk", flat=True)) == [kept.pk]


def test_a_body_that_is_kept_longer_than_its_row_goes_with_it(configure):
    EmailBodyFactory(email=EmailJobFactory(sent=True, sent_at=days_ago(10)))
    kept = EmailBodyFactory()
    configure(emails_bodies=None, emails_sent=7)

    summary_of()

    assert list(EmailBody.objects.values_list("pk", flat=True)) == [kept.pk]
    assert list(EmailJob.objects.values_list("pk", flat=True)) == [kept.pk]


def test_mail_that_waits_or_is_retried_has_no_age(configure):
    EmailBodyFactory(email=EmailJobFactory(created_at=days_ago(100)))
    EmailBodyFactory(email=EmailJobFactory(retrying=True, created_at=days_ago(100)))
    configure(emails_bodies=0, emails_sent=0, emails_dead=0, emails_cancelled=0)

    summary_of()

    assert EmailBody.objects.count() == EmailJob.objects.count() == 2


def test_dead_letters_and_cancelled_mail_have_days_of_their_own(configure):
    dead = EmailBodyFactory(email=EmailJobFactory(dead=True, created_at=days_ago(10)))
    EmailBodyFactory(email=EmailJobFactory(cancelled=True, created_at=days_ago(10)))
    configure(emails_dead=30, emails_cancelled=7)

    summary_of()

    assert list(EmailBody.objects.values_list("pk", flat=True)) == [dead.pk]


def test_done_deletions_go_with_their_steps_and_abandoned_ones_stay(configure):
    UserDeletionFactory(done=True, done_at=days_ago(400))
    abandoned = UserDeletionFactory(abandoned=True, abandoned_at=days_ago(400))
    configure(deletions_done=365)

    summary_of()

    assert list(UserDeletion.objects.all()) == [abandoned]
    assert set(UserDeletionStep.objects.values_list("deletion_id", flat=True)) == {abandoned.pk}


def test_done_deletions_of_buckets_go_and_abandoned_ones_stay(configure):
    BucketDeletionJobFactory(done=True, done_at=days_ago(40))
    kept = {
        BucketDeletionJobFactory(done=True, done_at=days_ago(20)).pk,
        BucketDeletionJobFactory(abandoned=True, abandoned_at=days_ago(40)).pk,
    }
    configure(deletions_buckets=30)

    summary_of()

    assert set(BucketDeletionJob.objects.values_list("pk", flat=True)) == kept


def test_the_newest_50_runs_of_each_job_and_its_newest_failure_stay_whatever_their_age(configure):
    old_failure = JobRunFactory(job_id="shop.a", failed=True)
    newest_failure = JobRunFactory(job_id="shop.a", status="lost")
    superseded = [JobRunFactory(job_id="shop.a") for _ in range(3)]
    newest = [JobRunFactory(job_id="shop.a") for _ in range(50)]
    rare = [JobRunFactory(job_id="shop.yearly") for _ in range(2)]
    waiting = JobRunFactory(job_id="shop.b", status="requested", trigger="manual")
    for _ in range(50):
        JobRunFactory(job_id="shop.b")
    JobRun.objects.update(created_at=days_ago(900))
    for run in (old_failure, newest_failure, superseded[0]):
        ActivityLogFactory(run_id=run.pk, job_id="shop.a", at=days_ago(900))
    configure(jobs_runs=0)

    output = summary_of()

    assert output["jobs.runs"]["deleted"] == 4
    kept = set(
        JobRun.objects.filter(job_id__in=("shop.a", "shop.yearly")).values_list("pk", flat=True)
    )
    assert kept == {run.pk for run in (newest_failure, *newest, *rare)}
    assert JobRun.objects.filter(pk=waiting.pk).exists()
    assert set(ActivityLog.objects.filter(job_id="shop.a").values_list("run_id", flat=True)) == {
        newest_failure.pk
    }


def test_a_young_run_stays_though_newer_ones_of_its_job_are_many(configure):
    for _ in range(60):
        JobRunFactory(job_id="shop.a")
    configure(jobs_runs=7)

    summary_of()

    assert JobRun.objects.filter(job_id="shop.a").count() == 60


def test_log_lines_of_a_run_stay_as_long_as_the_run(configure):
    run = JobRunFactory()
    ActivityLogFactory(run_id=run.pk, at=days_ago(10), message="of a run")
    ActivityLogFactory(at=days_ago(10), message="of none")
    configure(jobs_activity=7, jobs_runs=7)

    summary_of()

    assert [line.message for line in ActivityLog.objects.filter(at__lt=days_ago(9))] == ["of a run"]


def test_an_open_alert_has_no_age(configure):
    AlertFactory(opened_at=days_ago(1000))
    configure(jobs_alerts=0)

    assert summary_of()["jobs.alerts"]["deleted"] == 0


def test_children_are_swept_before_their_parents(configure):
    configure(emails_sent=1, emails_bodies=1, jobs_alerts=1)

    names = [item.prunable.name for item in configured_targets()]

    assert names.index("emails.bodies") < names.index("emails.sent")
    assert list(summary_of()) == names


def test_days_of_a_target_that_nobody_declares_any_more_delete_nothing(configure):
    from retention.models import TargetConfig

    TargetConfig.objects.create(name="shop.carts", days=1)

    assert summary_of() == {}
