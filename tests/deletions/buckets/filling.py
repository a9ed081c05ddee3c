"""Putting objects into buckets."""

from __future__ import annotations

import io
from collections.abc import Iterable

from jobs.objectstore import ObjectStore


def fill(store: ObjectStore, bucket: str, keys: Iterable[str]) -> list[str]:
    """Make the bucket and store an object under each key; return the keys."""
    store.create_bucket(bucket)
    stored = list(keys)
    for key in stored:
        store.write(bucket, key, io.BytesIO(b"x"))
    return stored


def names(count: int) -> list[str]:
    """Return keys in some directories."""
    return [f"dir{number % 7}/object-{number:05}" for number in range(count)]


def is_there(store: ObjectStore, bucket: str) -> bool:
    """Say whether the bucket is there."""
    from jobs.objectstore import NoSuchBucketError

    try:
        store.list_page(bucket, limit=1)
    except NoSuchBucketError:
        return False
    return True
