"""Deleting a batch: what the server confirms, key by key."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from jobs.objectstore.errors import StoreError
from jobs.objectstore.kinds import ErrorKind
from jobs.objectstore.s3.faults import failed, told
from jobs.objectstore.values import BatchResult, FailedKey

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import DeleteObjectsOutputTypeDef, ObjectIdentifierTypeDef

Item = tuple[str, str | None]  # key and version

# XML 1.0 cannot carry these, and reads a carriage return as a line feed.
NOT_FOR_XML = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")


def delete_items(client: S3Client, bucket: str, items: Sequence[Item]) -> BatchResult:
    """
    Delete keys, or versions of keys, and say what became of each.

    One by one go keys that XML cannot carry, all keys of a batch that the server refuses as
    a whole, and those that its answer does not name.
    """
    plain = [item for item in items if not NOT_FOR_XML.search(item[0])]
    deleted, errors, silent = _delete_batch(client, bucket, plain) if plain else ([], [], [])
    odd = [item for item in items if NOT_FOR_XML.search(item[0])]
    singly = _delete_singly(client, bucket, [*odd, *silent])
    return BatchResult(deleted=(*deleted, *singly.deleted), errors=(*errors, *singly.errors))


def _delete_batch(
    client: S3Client, bucket: str, items: Sequence[Item]
) -> tuple[list[str], list[FailedKey], list[Item]]:
    """Return the confirmed keys, the failed ones, and the items that went without a word."""
    doing = f"deleting {len(items)} keys of {bucket!r}"
    try:
        with told(doing, bucket=bucket):
            objects = [_identifier(item) for item in items]
            answer = client.delete_objects(Bucket=bucket, Delete={"Objects": objects})
    except StoreError as error:
        if error.kind is not ErrorKind.BATCH_REFUSED:
            raise
        return [], [], list(items)
    return _read(answer, items)


def _read(
    answer: DeleteObjectsOutputTypeDef, items: Sequence[Item]
) -> tuple[list[str], list[FailedKey], list[Item]]:
    # Not more often than asked for: an answer counts for keys of this batch only.
    open_items = Counter(items)
    errors: list[FailedKey] = []
    deleted = [
        gone["Key"]
        for gone in answer.get("Deleted", [])
        if _take(open_items, gone.get("Key", ""), gone.get("VersionId"))
    ]
    for said in answer.get("Errors", []):
        key, code = said.get("Key", ""), said.get("Code", "InternalError")
        if not _take(open_items, key, said.get("VersionId")):
            continue
        error = FailedKey(key=key, code=code, message=said.get("Message", ""))
        if error.kind is ErrorKind.GONE:
            deleted.append(key)
        else:
            errors.append(error)
    return deleted, errors, list(open_items.elements())


def _take(open_items: Counter[Item], key: str, version: str | None) -> bool:
    # Without a version asked for, the answer may name the one that the deletion has made.
    for item in ((key, version), (key, None)):
        if open_items[item] > 0:
            open_items[item] -= 1
            return True
    return False


def _delete_singly(client: S3Client, bucket: str, items: Sequence[Item]) -> BatchResult:
    deleted: list[str] = []
    errors: list[FailedKey] = []
    for place, (key, version) in enumerate(items):
        error = _delete_one(client, bucket, key, version)
        if error is None:
            deleted.append(key)
            continue
        errors.append(error)
        if error.kind is ErrorKind.TRANSIENT:
            # Each of the others would wait as long for the same answer.
            errors += [replace(error, key=rest) for rest, _ in items[place + 1 :]]
            break
    return BatchResult(deleted=tuple(deleted), errors=tuple(errors))


def _delete_one(client: S3Client, bucket: str, key: str, version: str | None) -> FailedKey | None:
    try:
        with told(f"deleting {key!r}", bucket=bucket):
            if version is None:
                client.delete_object(Bucket=bucket, Key=key)
            else:
                client.delete_object(Bucket=bucket, Key=key, VersionId=version)
    except StoreError as error:
        if error.kind is ErrorKind.NO_BUCKET:
            raise
        return None if error.kind is ErrorKind.GONE else failed(key, error)
    return None


def _identifier(item: Item) -> ObjectIdentifierTypeDef:
    key, version = item
    return {"Key": key} if version is None else {"Key": key, "VersionId": version}
