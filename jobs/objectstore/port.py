"""What every store can do."""

from __future__ import annotations

import abc
import re
from collections.abc import Sequence
from typing import BinaryIO, Protocol

from jobs.objectstore.errors import InvalidBucketError
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

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")


class Source(Protocol):
    """What bytes are read from: a file, or the body of a request."""

    def read(self, size: int, /) -> bytes: ...


class ObjectStore(abc.ABC):
    """
    A store of objects in buckets, each by its key.

    Every method raises ``StoreError``, whose ``kind`` says what to do about it;
    ``NoSuchBucketError`` where the bucket is not there, and ``InvalidBucketError`` for a name
    that none can have. A store may be used from several threads at once.
    """

    endpoint: str  # public: without secrets

    @abc.abstractmethod
    def list_page(
        self, bucket: str, *, prefix: str = "", after: str = "", limit: int = PAGE_LIMIT
    ) -> Page:
        """Return up to ``limit`` keys that begin with ``prefix`` and come after ``after``."""

    @abc.abstractmethod
    def delete_batch(self, bucket: str, keys: Sequence[str]) -> BatchResult:
        """
        Delete up to 1,000 objects and say of each what became of it.

        A key that is not there is deleted. The errors of single keys are in the result; only
        what concerns all of them is raised.
        """

    @abc.abstractmethod
    def list_versions(
        self,
        bucket: str,
        *,
        prefix: str = "",
        after: VersionCursor | None = None,
        limit: int = PAGE_LIMIT,
    ) -> VersionPage:
        """Return versions and marks of deletion; none from a store that keeps no versions."""

    @abc.abstractmethod
    def delete_versions(self, bucket: str, versions: Sequence[ObjectVersion]) -> BatchResult:
        """Delete up to 1,000 versions or marks for good; as ``delete_batch``."""

    @abc.abstractmethod
    def abort_uploads(self, bucket: str, *, prefix: str = "") -> BatchResult:
        """End the pending uploads of keys with this prefix; return the keys, once per upload."""

    @abc.abstractmethod
    def create_bucket(self, bucket: str) -> None:
        """Make a bucket. One that is there already is left as it is."""

    @abc.abstractmethod
    def drop_bucket(self, bucket: str) -> None:
        """Remove an empty bucket. Raises ``BucketNotEmptyError``."""

    @abc.abstractmethod
    def head(self, bucket: str, key: str) -> ObjectInfo | None:
        """Return what is known of an object; None if it is not there."""

    @abc.abstractmethod
    def open(self, bucket: str, key: str) -> BinaryIO:
        """Open an object for reading; the caller closes it. Raises ``NoSuchObjectError``."""

    @abc.abstractmethod
    def write(self, bucket: str, key: str, source: Source, *, limit: int | None = None) -> int:
        """
        Store what is read from ``source`` to its end; return the number of bytes.

        The object is there whole or not at all. Raises ``ObjectTooBigError`` for more than
        ``limit`` bytes, and ``InvalidKeyError`` for a key that the store cannot hold.
        """

    @abc.abstractmethod
    def move(self, bucket: str, source: str, target: str) -> None:
        """Give an object another key, in place of what has it. Raises ``NoSuchObjectError``."""

    @abc.abstractmethod
    def delete(self, bucket: str, key: str) -> None:
        """Delete one object. One that is not there is deleted."""

    @abc.abstractmethod
    def check_key(self, key: str) -> None:
        """Raise ``InvalidKeyError`` for a key that the store cannot hold."""

    @abc.abstractmethod
    def sign_upload(
        self, bucket: str, key: str, *, seconds: int, size: int, content_type: str = ""
    ) -> SignedUpload | None:
        """
        Return a request that uploads exactly ``size`` bytes and works for ``seconds``.

        None from a store that has no address of its own, such as a directory.
        """

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.endpoint}>"


def check_bucket(bucket: str) -> None:
    """Raise ``InvalidBucketError`` for a name that no bucket can have."""
    if not _BUCKET.fullmatch(bucket):
        raise InvalidBucketError(bucket)
