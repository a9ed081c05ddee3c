"""Buckets emptied and removed."""

from __future__ import annotations

import deletions
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
