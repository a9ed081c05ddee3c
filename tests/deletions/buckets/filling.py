"""Putting objects into buckets."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

from jobs.objectstore import NoSuchBucketError, ObjectStore
from jobs.objectstore.files.store import FileStore


def fill(store: ObjectStore, bucket: str, keys: Iterable[str]) -> list[str]:
    """Make the bucket and store an object under each key; return the keys."""
    store.create_bucket(bucket)
    stored = list(keys)
    if isinstance(store, FileStore):
        lay_out(Path(store.root) / bucket, stored)
    else:
        for key in stored:
            store.write(bucket, key, io.BytesIO(b"x"))
    return stored


def lay_out(directory: Path, keys: Iterable[str]) -> None:
    """Write the files of objects, without asking a store, which would flush each to disk."""
    for key in keys:
        path = directory / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def names(count: int) -> list[str]:
    """Return keys in some directories."""
    return [f"dir{number % 7}/object-{number:05}" for number in range(count)]


def is_there(store: ObjectStore, bucket: str) -> bool:
    """Say whether the bucket is there."""
    try:
        store.list_page(bucket, limit=1)
    except NoSuchBucketError:
        return False
    return True
