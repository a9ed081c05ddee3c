"""The versions of keys, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.objectstore.values import ObjectVersion, VersionCursor, VersionPage

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import ListObjectVersionsOutputTypeDef


def list_versions(
    client: S3Client, bucket: str, *, prefix: str, after: VersionCursor | None, limit: int
) -> VersionPage:
    """Return one page. Raises what the client raises."""
    if after is None:
        answer = client.list_object_versions(Bucket=bucket, Prefix=prefix, MaxKeys=limit)
    else:
        answer = client.list_object_versions(
            Bucket=bucket,
            Prefix=prefix,
            MaxKeys=limit,
            KeyMarker=after.key,
            VersionIdMarker=after.version_id,
        )
    return VersionPage(versions=(*_versions(answer), *_markers(answer)), next=_next(answer))


def _versions(answer: ListObjectVersionsOutputTypeDef) -> list[ObjectVersion]:
    found = answer.get("Versions", [])
    return [ObjectVersion(key=item["Key"], version_id=item["VersionId"]) for item in found]


def _markers(answer: ListObjectVersionsOutputTypeDef) -> list[ObjectVersion]:
    found = answer.get("DeleteMarkers", [])
    return [
        ObjectVersion(key=item["Key"], version_id=item["VersionId"], is_marker=True)
        for item in found
    ]


def _next(answer: ListObjectVersionsOutputTypeDef) -> VersionCursor | None:
    if not answer.get("IsTruncated", False):
        return None
    return VersionCursor(
        key=answer["NextKeyMarker"], version_id=answer.get("NextVersionIdMarker", "")
    )
