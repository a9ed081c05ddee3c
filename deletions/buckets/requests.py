"""Asking for the deletion of a bucket."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction

from deletions.buckets.errors import (
    InvalidPrefixError,
    SecretEndpointError,
    UnsettledBucketError,
)
from deletions.models import LIVE, BucketDeletionJob
from jobs import notifier
from jobs.failure import storable
from jobs.objectstore import stored_endpoint
from jobs.objectstore.endpoints import S3Endpoint, parse_endpoint
from jobs.objectstore.port import check_bucket

LOOKS = 5
PREFIX_BYTES = 1024
NAME_LENGTH = 200


def delete_bucket(
    name: str, *, endpoint: str | None = None, prefix: str = "", requested_by: Any = ""
) -> BucketDeletionJob:
    """
    Queue the deletion of a bucket, in the caller's transaction; return its job.

    ``endpoint`` is the URL of a store without secrets, by default ``OBJECT_STORE_URL``. With
    a ``prefix`` only the objects below it go, and the bucket stays. A bucket has one live job:
    a second request returns the first one's as it is. ``requested_by`` is a user or a name.
    Raises ``InvalidBucketError``, ``EndpointError``, ``SecretEndpointError``,
    ``InvalidPrefixError`` or ``UnsettledBucketError``.
    """
    return queue_bucket(name, endpoint=endpoint, prefix=prefix, requested_by=requested_by)


def queue_bucket(
    name: str,
    *,
    endpoint: str | None,
    prefix: str,
    requested_by: Any,
    user_deletion_id: int | None = None,
) -> BucketDeletionJob:
    """Queue it as ``delete_bucket`` does, on behalf of a user's deletion if there is one."""
    check_bucket(name)
    where = place_of(name, endpoint=endpoint, prefix=prefix)
    columns = {
        **where,
        "requested_by": _name(requested_by),
        "user_deletion_id": user_deletion_id,
    }
    live = BucketDeletionJob.objects.filter(**where, status__in=LIVE)
    for _ in range(LOOKS):
        found = live.first() or _insert(columns)
        if found is not None:
            return found
    raise UnsettledBucketError(name)


def place_of(name: str, *, endpoint: str | None, prefix: str) -> dict[str, str]:
    """Return the columns that say which objects are meant."""
    if len(storable(prefix).encode()) > PREFIX_BYTES or storable(prefix) != prefix:
        raise InvalidPrefixError(prefix)
    return {"bucket_name": name, "endpoint": _stored(endpoint), "prefix": prefix}


def _stored(endpoint: str | None) -> str:
    stored = stored_endpoint(endpoint)
    if endpoint:
        given = parse_endpoint(endpoint)
        if isinstance(given, S3Endpoint) and given.key:
            raise SecretEndpointError(stored)
    return stored


def _insert(columns: dict[str, Any]) -> BucketDeletionJob | None:
    """Insert a row; return None when another request was first."""
    try:
        with transaction.atomic():
            row = BucketDeletionJob.objects.create(**columns)
            notifier.wake(BucketDeletionJob._meta.db_table)
    except IntegrityError:
        return None
    row.refresh_from_db()
    return row


def _name(requested_by: Any) -> str:
    if hasattr(requested_by, "get_username"):
        requested_by = requested_by.get_username()
    return storable(str(requested_by))[:NAME_LENGTH]
