"""A server that speaks S3 as an object store."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO, cast

from boto3.s3.transfer import TransferConfig

from jobs.objectstore.errors import (
    BucketNotEmptyError,
    InvalidKeyError,
    NoSuchObjectError,
    StoreError,
)
from jobs.objectstore.kinds import ErrorKind
from jobs.objectstore.port import ObjectStore, Source, check_bucket
from jobs.objectstore.s3.batches import delete_items
from jobs.objectstore.s3.client import ANY_REGION
from jobs.objectstore.s3.faults import told
from jobs.objectstore.s3.streams import Body, Counted
from jobs.objectstore.s3.uploads import abort_uploads
from jobs.objectstore.s3.versions import list_versions
from jobs.objectstore.values import (
    PAGE_LIMIT,
    BatchResult,
    ObjectInfo,
    ObjectVersion,
    Page,
    SignedUpload,
    VersionCursor,
    VersionPage,
)

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import CreateBucketConfigurationTypeDef

KEY_BYTES = 1024
NOT_FOUND = ("404", "NoSuchKey", "NotFound")
# No threads of its own: the caller's lease and shutdown know of the caller's thread only.
TRANSFER = TransferConfig(use_threads=False)


class S3Store(ObjectStore):
    """Objects on a server that speaks S3."""

    def __init__(self, client: S3Client, *, endpoint: str, is_aws: bool) -> None:
        self.endpoint = endpoint
        self._client = client
        self._is_aws = is_aws

    def list_page(
        self, bucket: str, *, prefix: str = "", after: str = "", limit: int = PAGE_LIMIT
    ) -> Page:
        check_bucket(bucket)
        with told(f"listing {bucket!r}", bucket=bucket):
            answer = self._client.list_objects_v2(
                Bucket=bucket, Prefix=prefix, StartAfter=after, MaxKeys=limit
            )
        keys = tuple(item["Key"] for item in answer.get("Contents", []))
        return Page(keys=keys, is_last=not answer.get("IsTruncated", False))

    def delete_batch(self, bucket: str, keys: Sequence[str]) -> BatchResult:
        check_bucket(bucket)
        return delete_items(self._client, bucket, [(key, None) for key in keys])

    def list_versions(
        self,
        bucket: str,
        *,
        prefix: str = "",
        after: VersionCursor | None = None,
        limit: int = PAGE_LIMIT,
    ) -> VersionPage:
        check_bucket(bucket)
        try:
            with told(f"listing the versions of {bucket!r}", bucket=bucket):
                return list_versions(self._client, bucket, prefix=prefix, after=after, limit=limit)
        except StoreError as error:
            if error.code in ("NotImplemented", "501"):  # a server without versions
                return VersionPage(versions=(), next=None)
            raise

    def delete_versions(self, bucket: str, versions: Sequence[ObjectVersion]) -> BatchResult:
        check_bucket(bucket)
        items = [(version.key, version.version_id) for version in versions]
        return delete_items(self._client, bucket, items)

    def abort_uploads(self, bucket: str, *, prefix: str = "") -> BatchResult:
        check_bucket(bucket)
        return abort_uploads(self._client, bucket, prefix=prefix)

    def create_bucket(self, bucket: str) -> None:
        check_bucket(bucket)
        region = self._client.meta.region_name
        try:
            with told(f"making {bucket!r}", bucket=bucket):
                if self._is_aws and region != ANY_REGION:
                    place = cast("CreateBucketConfigurationTypeDef", {"LocationConstraint": region})
                    self._client.create_bucket(Bucket=bucket, CreateBucketConfiguration=place)
                else:
                    self._client.create_bucket(Bucket=bucket)
        except StoreError as error:
            # The second is also said of somebody else's bucket, which nobody else can look at.
            if error.code == "BucketAlreadyExists":
                self._look_at(bucket)
            elif error.code != "BucketAlreadyOwnedByYou":
                raise

    def drop_bucket(self, bucket: str) -> None:
        check_bucket(bucket)
        try:
            with told(f"removing {bucket!r}", bucket=bucket):
                self._client.delete_bucket(Bucket=bucket)
        except StoreError as error:
            if error.code == "BucketNotEmpty":
                raise BucketNotEmptyError(bucket) from None
            raise

    def head(self, bucket: str, key: str) -> ObjectInfo | None:
        check_bucket(bucket)
        self.check_key(key)
        try:
            with told(f"looking at {key!r}", bucket=bucket):
                answer = self._client.head_object(Bucket=bucket, Key=key)
        except StoreError as error:
            if error.code in NOT_FOUND:
                return None
            raise
        return ObjectInfo(size=answer["ContentLength"], modified_at=answer["LastModified"])

    def open(self, bucket: str, key: str) -> BinaryIO:
        check_bucket(bucket)
        self.check_key(key)
        doing = f"opening {key!r}"
        try:
            with told(doing, bucket=bucket):
                answer = self._client.get_object(Bucket=bucket, Key=key)
        except StoreError as error:
            if error.code in NOT_FOUND:
                raise NoSuchObjectError(doing, bucket, key) from None
            raise
        return io.BufferedReader(Body(answer["Body"], doing=doing, bucket=bucket))

    def write(self, bucket: str, key: str, source: Source, *, limit: int | None = None) -> int:
        check_bucket(bucket)
        self.check_key(key)
        counted = Counted(source, key=key, limit=limit)
        with told(f"writing {key!r}", bucket=bucket):
            self._client.upload_fileobj(cast("BinaryIO", counted), bucket, key, Config=TRANSFER)
        return counted.size

    def move(self, bucket: str, source: str, target: str) -> None:
        check_bucket(bucket)
        self.check_key(source)
        self.check_key(target)
        doing = f"moving {source!r} to {target!r}"
        try:
            with told(doing, bucket=bucket):
                self._client.copy(
                    {"Bucket": bucket, "Key": source}, bucket, target, Config=TRANSFER
                )
        except StoreError as error:
            if error.code in NOT_FOUND:
                raise NoSuchObjectError(doing, bucket, source) from None
            raise
        self.delete(bucket, source)

    def delete(self, bucket: str, key: str) -> None:
        check_bucket(bucket)
        self.check_key(key)
        try:
            with told(f"deleting {key!r}", bucket=bucket):
                self._client.delete_object(Bucket=bucket, Key=key)
        except StoreError as error:
            if error.kind is not ErrorKind.GONE:
                raise

    def check_key(self, key: str) -> None:
        try:
            size = len(key.encode())
        except UnicodeEncodeError:
            raise InvalidKeyError(key, "it cannot be written in UTF-8") from None
        if not 0 < size <= KEY_BYTES:
            raise InvalidKeyError(key, f"a key has from 1 to {KEY_BYTES} bytes")

    def sign_upload(
        self, bucket: str, key: str, *, seconds: int, size: int, content_type: str = ""
    ) -> SignedUpload | None:
        check_bucket(bucket)
        self.check_key(key)
        headers = {"Content-Type": content_type} if content_type else {}
        wanted = {"ContentType": content_type} if content_type else {}
        with told(f"signing an upload of {key!r}", bucket=bucket):
            url = self._client.generate_presigned_url(
                "put_object",
                Params={"Bucket": bucket, "Key": key, "ContentLength": size, **wanted},
                ExpiresIn=seconds,
            )
        return SignedUpload(url=url, headers=headers)

    def _look_at(self, bucket: str) -> None:
        with told(f"looking at {bucket!r}", bucket=bucket):
            self._client.head_bucket(Bucket=bucket)
