"""What does not go: undeletable objects, stores that are down, stores that lie."""

from __future__ import annotations

import io

import pytest

import deletions
from deletions.buckets.reads import get_bucket
from deletions.models import BucketDeletionJob
from jobs.alerts.evaluate import evaluate
from jobs.models import Alert
from tests.deletions.buckets.filling import fill, is_there, names
from tests.forms import FULL
from tests.stores.immutable import immutable

OBJECTS = 300 if FULL else 30


@pytest.mark.stores
def test_one_undeletable_object_waits_with_its_key_and_code_and_goes_when_it_is_mended(
    swift, on_swift, bucket, empty, retry
):
    fill(on_swift, bucket, names(OBJECTS - 1))
    content = f"stuck in {bucket}".encode()
    on_swift.write(bucket, "dir3/stuck", io.BytesIO(content))
    job = deletions.delete_bucket(bucket)

    with immutable(str(swift.place_of(content))):
        empty()

        job.refresh_from_db()
        assert (job.status, job.phase) == ("failed", "objects")
        assert (job.total_objects, job.deleted_objects) == (OBJECTS, OBJECTS - 1)
        assert (job.attempts, job.failed_objects) == (0, 1)
        assert job.next_retry_at is not None
        (failed,) = get_bucket(job.pk).failed_keys
        assert (failed.key, failed.code) == ("dir3/stuck", "ServiceUnavailable")
        assert "1 key was not deleted" in job.last_error

        retry()

        job.refresh_from_db()
        assert (job.status, job.attempts, job.deleted_objects) == ("failed", 1, OBJECTS - 1)

    retry()

    job.refresh_from_db()
    assert (job.status, job.deleted_objects, job.failed_keys) == ("done", OBJECTS, [])
    assert not is_there(on_swift, bucket)


@pytest.mark.stores
def test_an_answer_of_200_full_of_errors_adds_nothing(swift, on_swift, bucket, empty, retry):
    keys = fill(on_swift, bucket, names(8))
    job = deletions.delete_bucket(bucket)
    server = swift.servers["object"]

    server.kill()
    try:
        empty()
    finally:
        server.start()

    job.refresh_from_db()
    assert (job.status, job.total_objects, job.deleted_objects) == ("failed", 8, 0)
    assert (job.attempts, job.failed_objects) == (1, 8)
    assert [failed["key"] for failed in job.failed_keys] == sorted(keys)
    assert {failed["code"] for failed in job.failed_keys} == {"ServiceUnavailable"}
    retry()
    job.refresh_from_db()
    assert (job.status, job.deleted_objects) == ("done", 8)


@pytest.mark.stores
def test_a_store_that_is_down_fails_the_claim_and_is_asked_again(
    rclone, on_rclone, bucket, empty, retry
):
    fill(on_rclone, bucket, ["a"])
    job = deletions.delete_bucket(bucket)

    rclone.server.kill()
    try:
        empty()
    finally:
        rclone.server.start()

    job.refresh_from_db()
    assert (job.status, job.attempts, job.total_objects) == ("failed", 1, None)
    assert "Unreachable" in job.last_error
    assert "Traceback" not in job.last_error
    retry()
    job.refresh_from_db()
    assert job.status == "done"


@pytest.mark.stores
def test_a_store_that_reports_as_deleted_what_it_keeps_stops_with_an_error_after_one_pass(
    rclone, on_rclone, bucket, empty, retry
):
    fill(on_rclone, bucket, [f"o{number}" for number in range(6)])
    assert len(on_rclone.list_page(bucket).keys) == 6
    # This server goes on listing a file that others have taken away, and calls it deleted.
    (rclone.data / bucket / "o3").unlink()
    job = deletions.delete_bucket(bucket)

    empty()

    job.refresh_from_db()
    assert job.status == "failed"
    assert (job.total_objects, job.deleted_objects, job.failed_objects) == (6, 5, 1)
    assert [(failed["key"], failed["code"]) for failed in job.failed_keys] == [
        ("o3", "StillListed")
    ]
    assert "lists it again" in job.last_error
    assert job.attempts == 0
    retry()
    job.refresh_from_db()
    assert (job.attempts, job.deleted_objects) == (1, 5)


def test_without_progress_it_is_abandoned_after_the_cap_and_an_alert_opens(
    files, bucket, retry, settings, caplog
):
    settings.BUCKET_DELETION_MAX_ATTEMPTS = 3
    fill(files, bucket, ["a", "b"])
    job = deletions.delete_bucket(bucket)
    with immutable(f"{files.root}/{bucket}"):
        for _ in range(5):
            retry()

    job.refresh_from_db()
    assert (job.status, job.attempts, job.deleted_objects) == ("abandoned", 3, 0)
    assert job.abandoned_at is not None
    lines = [line.message for line in caplog.records if "bucket_deletion_abandoned" in line.message]
    (line,) = lines
    assert line.startswith(f"bucket_deletion_abandoned id={job.pk} bucket={bucket} ")
    assert line.endswith(" attempts=3 deleted=0 total=2")
    evaluate()
    alert = Alert.objects.get(rule="dead_letter_depth", subject="bucket_deletion_jobs")
    assert alert.resolved_at is None
    assert deletions.delete_bucket(bucket).pk == job.pk


def test_a_claim_that_made_progress_sets_the_attempts_back(files, bucket, empty):
    fill(files, bucket, ["kept/a", *names(3)])
    job = deletions.delete_bucket(bucket)
    BucketDeletionJob.objects.update(attempts=6)

    with immutable(f"{files.root}/{bucket}/kept"):
        empty()

    job.refresh_from_db()
    assert (job.status, job.attempts, job.deleted_objects) == ("failed", 0, 3)
