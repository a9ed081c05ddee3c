"""Multipart uploads that were never completed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote

from jobs.objectstore.errors import StoreError
from jobs.objectstore.kinds import ErrorKind
from jobs.objectstore.s3.faults import failed, told
from jobs.objectstore.values import BatchResult, FailedKey

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

UNKNOWN_HERE = ("NotImplemented", "501")


def abort_uploads(client: S3Client, bucket: str, *, prefix: str) -> BatchResult:
    """Abort every pending upload of keys with a prefix; one that has ended meanwhile counts."""
    aborted: list[str] = []
    errors: list[FailedKey] = []
    try:
        for key, upload_id in _pending(client, bucket, prefix=prefix):
            error = _abort(client, bucket, key=key, upload_id=upload_id)
            if error is None:
                aborted.append(key)
            else:
                errors.append(error)
    except StoreError as error:
        if error.code not in UNKNOWN_HERE:  # a server without multipart uploads
            raise
    return BatchResult(deleted=tuple(aborted), errors=tuple(errors))


def _pending(client: S3Client, bucket: str, *, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield key and id of each, page by page: what is aborted meanwhile disturbs no marker."""
    marker: tuple[str, str] | None = None
    while True:
        with told(f"listing the uploads of {bucket!r}", bucket=bucket):
            # The encoding by hand: of this listing alone, boto3 does not do it by itself.
            answer = client.list_multipart_uploads(
                Bucket=bucket,
                Prefix=prefix,
                EncodingType="url",
                KeyMarker=marker[0] if marker else "",
                UploadIdMarker=marker[1] if marker else "",
            )
        is_encoded = answer.get("EncodingType") == "url"
        for upload in answer.get("Uploads", []):
            key = upload["Key"]
            yield unquote(key) if is_encoded else key, upload["UploadId"]
        if not answer.get("IsTruncated", False):
            return
        next_key = answer["NextKeyMarker"]
        marker = (unquote(next_key) if is_encoded else next_key, answer["NextUploadIdMarker"])


def _abort(client: S3Client, bucket: str, *, key: str, upload_id: str) -> FailedKey | None:
    try:
        with told(f"aborting an upload of {key!r}", bucket=bucket):
            client.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload_id)
    except StoreError as error:
        return None if error.kind is ErrorKind.GONE else failed(key, error)
    return None
