"""Buckets emptied and removed, on a file system and on ``rclone serve s3``."""

from __future__ import annotations

import deletions
from deletions.models import BucketDeletionJob
from jobs.objectstore import open_store
from jobs.stopping import StopSignal
from tests.deletions.buckets.filling import fill, is_there, names


def test_a_bucket_of_files_is_emptied_counted_and_removed(files, bucket, empty):
    fill(files, bucket, names(30))
    job = deletions.delete_bucket(bucket, requested_by="anna")

    counts = empty()

    job.refresh_from_db()
    assert counts["done"] == 1
    assert (job.status, job.phase, job.requested_by) == ("done", "bucket", "anna")
    assert (job.total_objects, job.deleted_objects, job.attempts) == (30, 30, 0)
    assert (job.claim_token, job.lease_expires_at) == (None, None)
    assert job.done_at is not None
    assert not is_there(files, bucket)


def test_a_page_of_a_thousand_keys_is_followed_by_the_next(files, bucket, empty):
    fill(files, bucket, names(2003))
    job = deletions.delete_bucket(bucket)

    empty()

    job.refresh_from_db()
    assert (job.status, job.total_objects, job.deleted_objects) == ("done", 2003, 2003)
    assert not is_there(files, bucket)


def test_a_bucket_of_an_s3_server_is_emptied_and_removed(on_rclone, bucket, empty):
    fill(on_rclone, bucket, names(40))
    job = deletions.delete_bucket(bucket)

    empty()

    job.refresh_from_db()
    assert (job.status, job.total_objects, job.deleted_objects) == ("done", 40, 40)
    assert not is_there(on_rclone, bucket)


def test_a_bucket_that_is_not_there_is_done(on_rclone, bucket, empty):
    job = deletions.delete_bucket(bucket)

    empty()

    job.refresh_from_db()
    assert (job.status, job.total_objects, job.deleted_objects) == ("done", 0, 0)


def test_a_bucket_that_somebody_removes_meanwhile_is_done_with_all_counted(files, bucket, empty):
    fill(files, bucket, ["a"])
    job = deletions.delete_bucket(bucket)
    BucketDeletionJob.objects.update(total_objects=300, deleted_objects=120)
    files.delete(bucket, "a")
    files.drop_bucket(bucket)

    empty()

    job.refresh_from_db()
    assert (job.status, job.total_objects, job.deleted_objects) == ("done", 300, 300)


def test_a_prefix_takes_its_objects_and_leaves_the_bucket(files, bucket, empty):
    fill(files, bucket, ["users/7/a", "users/7/b", "users/70/c", "z"])
    job = deletions.delete_bucket(bucket, prefix="users/7/")

    empty()

    job.refresh_from_db()
    assert (job.status, job.phase, job.total_objects) == ("done", "verify", 2)
    assert files.list_page(bucket).keys == ("users/70/c", "z")


def test_objects_that_a_restart_finds_deleted_are_not_listed_and_count_in_the_end(
    files, bucket, empty
):
    keys = fill(files, bucket, names(50))
    job = deletions.delete_bucket(bucket)
    # As a worker leaves it that was killed between a deletion and its count.
    BucketDeletionJob.objects.update(total_objects=50, deleted_objects=10)
    files.delete_batch(bucket, keys[:30])

    empty()

    job.refresh_from_db()
    assert (job.status, job.total_objects, job.deleted_objects) == ("done", 50, 50)


def test_a_total_that_was_too_small_is_raised(files, bucket, empty):
    fill(files, bucket, names(50))
    job = deletions.delete_bucket(bucket)
    BucketDeletionJob.objects.update(total_objects=5)

    empty()

    job.refresh_from_db()
    assert (job.status, job.total_objects, job.deleted_objects) == ("done", 50, 50)


def test_a_shutdown_releases_the_row_between_batches_and_spends_no_attempt(
    files, bucket, empty, monkeypatch
):
    fill(files, bucket, names(1500))
    job = deletions.delete_bucket(bucket)
    stop = StopSignal()
    store = open_store()
    delete = store.delete_batch

    def delete_and_stop(name, keys):
        result = delete(name, keys)
        stop.set(grace_ms=60_000)
        return result

    monkeypatch.setattr(store, "delete_batch", delete_and_stop)

    counts = empty(stop=stop)

    job.refresh_from_db()
    assert counts["released"] == 1
    assert (job.status, job.attempts, job.claim_token) == ("pending", 0, None)
    assert job.total_objects == 1500
    assert len(files.list_page(bucket).keys) == 500
    monkeypatch.undo()
    empty()
    job.refresh_from_db()
    assert (job.status, job.deleted_objects) == ("done", 1500)


def test_what_is_written_meanwhile_is_deleted_as_well(files, bucket, empty, monkeypatch):
    fill(files, bucket, names(3))
    job = deletions.delete_bucket(bucket)
    store = open_store()
    drop, late = store.drop_bucket, ["late-1", "late-2"]

    def drop_after_one_more(name):
        if late:
            fill(store, bucket, [late.pop()])
        drop(name)

    monkeypatch.setattr(store, "drop_bucket", drop_after_one_more)

    empty()

    job.refresh_from_db()
    assert (job.status, job.total_objects, job.deleted_objects) == ("done", 5, 5)


def test_a_bucket_that_is_filled_as_fast_as_it_is_emptied_fails_and_says_so(
    files, bucket, empty, monkeypatch
):
    fill(files, bucket, ["a"])
    job = deletions.delete_bucket(bucket)
    store = open_store()
    drop = store.drop_bucket

    def drop_after_one_more(name):
        fill(store, bucket, ["again"])
        drop(name)

    monkeypatch.setattr(store, "drop_bucket", drop_after_one_more)

    empty()

    job.refresh_from_db()
    assert job.status == "failed"
    assert "held something again after being emptied 3 times" in job.last_error
