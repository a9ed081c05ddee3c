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
    from mypy_boto3_s3.type_defs import ListMultipartUploadsOutputTypeDef

# From a server without multipart uploads; the last from rclone when there is none.
NONE_HERE = ("NotImplemented", "501", "NoSuchUpload")
Marker = tuple[str, str]  # the last key and upload id of a page


def abort_uploads(client: S3Client, bucket: str, *, prefix: str) -> BatchResult:
    """Abort every pending upload of keys with a prefix; one that has ended meanwhile counts."""
    aborted: list[str] = []
    errors: list[FailedKey] = []
    for key, upload_id in _pending(client, bucket, prefix=prefix):
        error = _abort(client, bucket, key=key, upload_id=upload_id)
        if error is None:
            aborted.append(key)
        else:
            errors.append(error)
    return BatchResult(deleted=tuple(aborted), errors=tuple(errors))


def _pending(client: S3Client, bucket: str, *, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield key and id of each, page by page: what is aborted meanwhile disturbs no marker."""
    marker: Marker | None = None
    while True:
        try:
            with told(f"listing the uploads of {bucket!r}", bucket=bucket):
                answer = _list(client, bucket, prefix=prefix, after=marker)
        except StoreError as error:
            if error.code in NONE_HERE:
                return
            raise
        for upload in answer.get("Uploads", []):
            yield _plain(answer, upload["Key"]), upload["UploadId"]
        if not answer.get("IsTruncated", False):
            return
        marker = _plain(answer, answer["NextKeyMarker"]), answer["NextUploadIdMarker"]


def _list(
    client: S3Client, bucket: str, *, prefix: str, after: Marker | None
) -> ListMultipartUploadsOutputTypeDef:
    # The encoding is asked for by hand: of all listings, boto3 leaves it out of this one.
    if after is None:
        return client.list_multipart_uploads(Bucket=bucket, Prefix=prefix, EncodingType="url")
    key, upload_id = after
    return client.list_multipart_uploads(
        Bucket=bucket, Prefix=prefix, EncodingType="url", KeyMarker=key, UploadIdMarker=upload_id
    )


def _plain(answer: ListMultipartUploadsOutputTypeDef, key: str) -> str:
    return unquote(key) if answer.get("EncodingType") == "url" else key


def _abort(client: S3Client, bucket: str, *, key: str, upload_id: str) -> FailedKey | None:
    try:
        with told(f"aborting an upload of {key!r}", bucket=bucket):
            client.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload_id)
    except StoreError as error:
        return None if error.kind is ErrorKind.GONE else failed(key, error)
    return None
