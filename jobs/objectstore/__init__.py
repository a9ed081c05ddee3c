"""
Where objects are kept: the file system, or a store that speaks S3.

``open_store`` gives the store of an endpoint; everything else goes through the methods of
``ObjectStore``. boto3 is imported when an ``s3://`` endpoint is first opened.

| term | meaning |
|---|---|
| endpoint | the URL of a store, such as ``file:///srv/objects`` or ``s3://KEY:SECRET@host/`` |
| public endpoint | the same without key and secret: the form that is stored and shown |
| bucket | a named set of objects; on the file system a directory below the endpoint's |
| key | the name of an object in its bucket |
| confirmed | of a key: the store itself said that it is deleted |
| version | one of several states of a key in a bucket that keeps them, or the mark of a deletion |
| pending upload | an upload that was begun, and neither completed nor aborted |
"""

from __future__ import annotations

from jobs.objectstore.endpoints import public_endpoint
from jobs.objectstore.errors import (
    BucketNotEmptyError,
    InvalidBucketError,
    InvalidKeyError,
    NoSuchBucketError,
    NoSuchObjectError,
    ObjectTooBigError,
    StoreError,
)
from jobs.objectstore.guard import guarded
from jobs.objectstore.kinds import ErrorKind
from jobs.objectstore.opening import open_store, stored_endpoint
from jobs.objectstore.port import ObjectStore
from jobs.objectstore.values import (
    BatchResult,
    FailedKey,
    ObjectInfo,
    ObjectVersion,
    Page,
    SignedUpload,
    VersionCursor,
    VersionPage,
)

__all__ = [
    "BatchResult",
    "BucketNotEmptyError",
    "ErrorKind",
    "FailedKey",
    "InvalidBucketError",
    "InvalidKeyError",
    "NoSuchBucketError",
    "NoSuchObjectError",
    "ObjectInfo",
    "ObjectStore",
    "ObjectTooBigError",
    "ObjectVersion",
    "Page",
    "SignedUpload",
    "StoreError",
    "VersionCursor",
    "VersionPage",
    "guarded",
    "open_store",
    "public_endpoint",
    "stored_endpoint",
]
