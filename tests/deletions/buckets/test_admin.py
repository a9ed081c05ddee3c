"""Bucket deletions in the admin: the list, the page of one, and what operators do there."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from jobs.groups import console_groups
from jobs.models import AuditLog
from tests.factories import UserFactory, give
from tests.factories.buckets import BucketDeletionJobFactory
from tests.factories.deletions import UserDeletionFactory

LIST = "/admin/deletions/bucketdeletionjob/"
pytestmark = pytest.mark.django_db


def page_of(job) -> str:
    return f"{LIST}{job.pk}/change/"


@pytest.fixture
def anna() -> Client:
    """A superuser's browser."""
    client = Client()
    client.force_login(UserFactory(username="anna", is_superuser=True))
    return client


def text_of(response) -> str:
    assert response.status_code == 200
    return response.content.decode()


def test_the_list_draws_a_bar_with_rate_and_estimate(anna):
    job = BucketDeletionJobFactory(processing=True, bucket_name="photos")

    text = text_of(anna.get(LIST))

    assert f'<a href="{page_of(job)}">{job.pk}</a>' in text
    assert '<progress value="21" max="100" aria-label="deleted">' in text
    assert "4,200 of 20,000 (21 %)" in text
    assert "/s, " in text
    assert " left" in text


def test_a_list_without_rows_says_so(anna):
    assert "No deletion of a bucket was requested yet." in text_of(anna.get(LIST))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?status=dead", ["abandoned"]),
        ("?status=pending", ["pending"]),
        ("?status=processing", ["processing"]),
        ("?status=retrying", ["retrying"]),
        ("?status=done", ["done"]),
        ("?status=cancelled", ["cancelled"]),
        ("?q=bucket:photos", ["done"]),
    ],
)
def test_each_filter_shows_exactly_its_jobs(anna, query, expected):
    rows = {
        name: BucketDeletionJobFactory(**{name: True})
        for name in ("abandoned", "processing", "retrying", "cancelled")
    }
    rows["pending"] = BucketDeletionJobFactory()
    rows["done"] = BucketDeletionJobFactory(done=True, bucket_name="photos")

    response = anna.get(f"{LIST}{query}")

    shown = [row.pk for row in response.context["cl"].result_list]
    assert shown == [rows[name].pk for name in expected]


def test_the_page_shows_phases_failed_keys_and_the_user(anna):
    deletion = UserDeletionFactory()
    job = BucketDeletionJobFactory(
        abandoned=True, bucket_name="photos", prefix="7/", user_deletion_id=deletion.pk
    )

    text = text_of(anna.get(page_of(job)))

    assert f"Deletion {job.pk} of bucket photos/7/*" in text
    assert "photos/2026/held.jpg" in text
    assert "AccessDenied" in text
    assert "the object is locked" in text
    assert "uploads" in text
    assert f"/admin/deletions/userdeletion/{deletion.pk}/change/" in text
    assert "Requeue…" in text
    assert "Cancel…" in text


@pytest.mark.parametrize(
    ("verb", "state", "becomes"),
    [("requeue", "abandoned", "pending"), ("cancel", "processing", "cancelled")],
)
def test_a_verb_asks_a_reason_acts_once_and_is_audited(anna, verb, state, becomes):
    job = BucketDeletionJobFactory(**{state: True})
    path = f"{LIST}verb/{verb}/?ids={job.pk}"

    without = anna.post(path, {"ids": str(job.pk), "reason": ""})
    job.refresh_from_db()
    assert without.status_code == 200
    assert job.status == state
    for _ in range(2):
        anna.post(path, {"ids": str(job.pk), "reason": "as agreed"})

    job.refresh_from_db()
    assert job.status == becomes
    entry = AuditLog.objects.get()
    assert (entry.actor, entry.verb, entry.via) == ("anna", verb, "admin")
    assert entry.reason == "as agreed"
    assert LogEntry.objects.count() == 1


@pytest.mark.parametrize("verb", ["requeue", "cancel"])
def test_without_the_permission_there_is_no_button_and_a_post_is_refused(verb):
    job = BucketDeletionJobFactory(abandoned=True)
    user = UserFactory(username="otto")
    give(user, "deletions.view_bucketdeletionjob")
    observer = Client()
    observer.force_login(user)

    text = text_of(observer.get(page_of(job)))
    refused = observer.post(f"{LIST}verb/{verb}/", {"ids": str(job.pk), "reason": "x"})

    assert "Requeue…" not in text
    assert "Cancel…" not in text
    assert refused.status_code == 403


def test_operators_may_requeue_and_cancel():
    groups = {group.name: group.permissions for group in console_groups()}

    wanted = {
        "deletions.requeue_bucketdeletionjob",
        "deletions.cancel_bucketdeletionjob",
        "deletions.view_bucketdeletionjob",
    }
    assert wanted <= groups["Operator"]
    assert wanted & groups["Observer"] == {"deletions.view_bucketdeletionjob"}
