"""The buckets of a user, deleted with the user."""

from __future__ import annotations

import re

import pytest

import deletions
from deletions.buckets import verbs
from deletions.models import BucketDeletionJob, UserDeletion
from jobs.models.audit import Via
from tests.deletions.buckets.filling import fill, is_there
from tests.deletions.conftest import is_gone, step_of, steps_of
from tests.stores.immutable import immutable


@pytest.fixture
def due(transactional_db):
    """Let everything that waits be due."""

    def make() -> None:
        for model in (UserDeletion, BucketDeletionJob):
            waiting = model.objects.filter(next_retry_at__isnull=False)
            waiting.update(next_retry_at="2020-01-01T00:00:00Z")

    return make


def buckets_of(user) -> dict[str, object]:
    return {"buckets": ["photos", {"name": "papers"}, {"name": "shared", "prefix": "users/7/"}]}


@pytest.fixture
def with_buckets(files, settings):
    """A user has three: two of its own, and a part of one."""
    settings.USER_DELETION_SNAPSHOT = "tests.deletions.buckets.test_step.buckets_of"
    fill(files, "photos", ["a", "b", "c"])
    fill(files, "papers", ["d"])
    fill(files, "shared", ["users/7/e", "users/8/f"])
    return files


def test_a_user_with_three_buckets_is_gone_only_after_the_buckets_are(
    user, with_buckets, work, empty, due
):
    deletion = deletions.request(user, requested_by="anna")

    counts = work()

    assert counts["waiting"] == 1
    assert not is_gone(user)
    states = steps_of(deletion)
    assert (states["account"], states["buckets"], states["rows"]) == ("done", "todo", "todo")
    detail = step_of(deletion, "buckets").detail
    assert detail.startswith("0 of 3 deleted; left: photos pending (job ")
    jobs = BucketDeletionJob.objects.order_by("pk")
    assert [(job.bucket_name, job.prefix, job.user_deletion_id) for job in jobs] == [
        ("photos", "", deletion.pk),
        ("papers", "", deletion.pk),
        ("shared", "users/7/", deletion.pk),
    ]
    assert {job.requested_by for job in jobs} == {f"user deletion {deletion.pk}"}

    with immutable(f"{with_buckets.root}/papers"):
        empty()
        due()
        work()

        assert not is_gone(user)
        assert "2 of 3 deleted; left: papers failed" in step_of(deletion, "buckets").detail

    due()
    empty()
    assert not is_gone(user)
    due()
    work()

    assert is_gone(user)
    deletion.refresh_from_db()
    assert (deletion.status, deletion.attempts) == ("done", 1)
    assert steps_of(deletion)["buckets"] == "done"
    assert not is_there(with_buckets, "photos")
    assert not is_there(with_buckets, "papers")
    assert with_buckets.list_page("shared").keys == ("users/8/f",)
    assert BucketDeletionJob.objects.filter(status="done").count() == 3


def test_the_time_until_the_next_look_is_a_minute_and_costs_no_attempt(user, with_buckets, work):
    deletion = deletions.request(user, requested_by="anna")

    work()

    deletion.refresh_from_db()
    assert (deletion.status, deletion.attempts) == ("pending", 0)
    seconds = (deletion.next_retry_at - step_of(deletion, "buckets").waiting_since).total_seconds()
    assert 59 < seconds < 75


def test_a_bucket_that_somebody_else_has_deleted_is_looked_at_again(
    user, with_buckets, work, empty, due
):
    theirs = deletions.delete_bucket("photos", requested_by="anna")
    deletion = deletions.request(user, requested_by="anna")

    work()
    assert not BucketDeletionJob.objects.filter(
        bucket_name="photos", user_deletion_id=deletion.pk
    ).exists()
    empty()
    due()
    work()  # theirs is done: the bucket may be there again

    own = BucketDeletionJob.objects.get(bucket_name="photos", user_deletion_id=deletion.pk)
    assert own.pk != theirs.pk
    empty()
    due()
    work()
    assert is_gone(user)


def test_a_bucket_whose_deletion_is_cancelled_fails_the_step_until_it_is_requeued(
    user, with_buckets, work, empty, due
):
    deletion = deletions.request(user, requested_by="anna")
    work()
    job = BucketDeletionJob.objects.get(bucket_name="papers")
    verbs.cancel([job.pk], actor=None, via=Via.COMMAND, reason="kept for the court")
    due()

    work()

    step = step_of(deletion, "buckets")
    assert step.state == "failed"
    assert f"The deletion of bucket papers was cancelled (job {job.pk})" in step.detail
    assert not is_gone(user)
    verbs.requeue([job.pk], actor=None, via=Via.COMMAND)
    empty()
    due()
    work()
    assert is_gone(user)


def test_without_buckets_the_step_is_skipped(user, work):
    deletion = deletions.request(user, requested_by="anna")

    work()

    assert is_gone(user)
    assert step_of(deletion, "buckets").state == "skipped"
    assert not BucketDeletionJob.objects.exists()


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (7, "snapshot\\['buckets'\\] holds 7"),
        ({"bucket": "photos"}, "give names, or dicts"),
        ("../etc", "InvalidBucketName"),
    ],
)
def test_an_entry_that_is_no_bucket_fails_the_step_and_says_so(user, work, entry, why):
    deletion = deletions.request(user, requested_by="anna")
    UserDeletion.objects.filter(pk=deletion.pk).update(snapshot={"buckets": [entry]})

    work()

    step = step_of(deletion, "buckets")
    assert step.state == "failed"
    assert re.search(why, step.detail)
    assert "Traceback" not in step.detail
