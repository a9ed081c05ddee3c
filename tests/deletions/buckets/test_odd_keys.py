"""Versions, marks of deletion, pending uploads, and keys that stores and clients get wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

import deletions
from tests.deletions.buckets.filling import fill, is_there, lay_out
from tests.stores.keys import ODD_KEYS, PATHS


@pytest.mark.stores
def test_a_versioned_bucket_with_odd_keys_marks_and_a_pending_upload_is_gone(
    swift, on_swift, bucket, empty
):
    on_swift.create_bucket(bucket)
    swift.client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    fill(on_swift, bucket, ODD_KEYS)
    fill(on_swift, bucket, ODD_KEYS[:4])  # a second version
    on_swift.delete_batch(bucket, ODD_KEYS[3:6])  # marks
    swift.client.create_multipart_upload(Bucket=bucket, Key="big")
    job = deletions.delete_bucket(bucket)

    empty()

    job.refresh_from_db()
    assert (job.status, job.phase, job.last_error) == ("done", "bucket", "")
    assert job.deleted_objects == job.total_objects
    # Objects that were to be seen, and then their versions, with the marks of all deletions.
    assert job.total_objects >= 2 * len(ODD_KEYS) + 4
    assert not is_there(on_swift, bucket)


def test_odd_keys_of_files_are_gone_and_nothing_outside_the_bucket_is_touched(
    files, bucket, empty, tmp_path
):
    fill(files, bucket, PATHS)
    fill(files, f"{bucket}-other", ["neighbour"])
    outside = tmp_path / "outside"
    lay_out(outside, ["precious"])
    directory = Path(files.root) / bucket
    (directory / "link").symlink_to(outside)
    (directory / "file-link").symlink_to(outside / "precious")
    job = deletions.delete_bucket(bucket)

    empty()

    job.refresh_from_db()
    assert (job.status, job.last_error) == ("done", "")
    assert not directory.exists()
    assert (outside / "precious").exists()
    assert files.list_page(f"{bucket}-other").keys == ("neighbour",)
