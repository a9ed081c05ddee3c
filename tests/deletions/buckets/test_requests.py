"""Asking for the deletion of a bucket."""

from __future__ import annotations

import pytest
from django.db import transaction

import deletions
from deletions.buckets.errors import InvalidPrefixError, SecretEndpointError
from deletions.models import BucketDeletionJob
from jobs import notifier
from jobs.objectstore import InvalidBucketError
from jobs.objectstore.errors import EndpointError
from tests.factories import UserFactory
from tests.factories.buckets import BucketDeletionJobFactory


def test_a_request_keeps_what_is_needed_after_the_bucket_is_gone(files, db):
    job = deletions.delete_bucket("photos", requested_by=UserFactory(username="anna"))

    assert (job.bucket_name, job.endpoint, job.prefix) == ("photos", files.endpoint, "")
    assert (job.status, job.phase, job.requested_by) == ("pending", "objects", "anna")
    assert (job.total_objects, job.deleted_objects, job.attempts) == (None, 0, 0)


def test_a_live_job_of_the_same_bucket_is_returned_instead(files, db):
    first = deletions.delete_bucket("photos", requested_by="anna")

    again = deletions.delete_bucket("photos", requested_by="ben", endpoint=files.endpoint)

    assert (again.pk, again.requested_by) == (first.pk, "anna")
    assert BucketDeletionJob.objects.count() == 1


@pytest.mark.parametrize("ended", ["done", "cancelled"])
def test_a_job_that_has_ended_makes_room_for_another(files, db, ended):
    first = BucketDeletionJobFactory(**{ended: True}, bucket_name="photos", endpoint=files.endpoint)

    assert deletions.delete_bucket("photos").pk != first.pk


def test_another_endpoint_or_prefix_is_another_job(files, db, tmp_path):
    asked = [
        deletions.delete_bucket("photos"),
        deletions.delete_bucket("photos", prefix="users/7/"),
        deletions.delete_bucket("photos", endpoint=(tmp_path / "elsewhere").as_uri()),
    ]

    assert len({job.pk for job in asked}) == 3


def test_a_request_is_taken_back_with_the_callers_transaction(files, transactional_db):
    with pytest.raises(RuntimeError), transaction.atomic():
        deletions.delete_bucket("photos")
        raise RuntimeError

    assert not BucketDeletionJob.objects.exists()


def test_a_commit_wakes_the_workers(files, transactional_db):
    woken = []
    end = notifier.subscribe(woken.append)

    deletions.delete_bucket("photos")

    end()
    assert woken == ["bucket_deletion_jobs"]


def test_secrets_are_never_stored(settings, db):
    settings.OBJECT_STORE_URL = "s3://akey:asecret@store.example/?region=eu-1"

    job = deletions.delete_bucket("photos")

    assert job.endpoint == "s3://store.example/?region=eu-1"
    with pytest.raises(SecretEndpointError) as refused:
        deletions.delete_bucket("photos", endpoint="s3://other:hidden@store.example/")
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"name": "../etc"}, InvalidBucketError),
        ({"name": ""}, InvalidBucketError),
        ({"name": "a", "endpoint": "https://store.example"}, EndpointError),
        ({"name": "a", "prefix": "x" * 1025}, InvalidPrefixError),
        ({"name": "a", "prefix": "日" * 342}, InvalidPrefixError),
        ({"name": "a", "prefix": "a\0b"}, InvalidPrefixError),
    ],
    ids=["parent", "empty", "web", "long", "long in bytes", "nul"],
)
def test_what_cannot_be_meant_is_refused_at_the_request(files, db, arguments, error):
    with pytest.raises(error):
        deletions.delete_bucket(**arguments)

    assert not BucketDeletionJob.objects.exists()
