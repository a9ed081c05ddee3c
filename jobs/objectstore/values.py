"""What stores take and give."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field

from jobs.objectstore.kinds import ErrorKind, kind_of

# What S3 takes and gives at once.
PAGE_LIMIT = 1000


@dataclass(frozen=True, kw_only=True)
class Page:
    """Keys in the order of their UTF-8 bytes. The next page is listed after the last of them."""

    keys: tuple[str, ...]
    is_last: bool


@dataclass(frozen=True, kw_only=True)
class ObjectVersion:
    """One version of a key, or the mark that says it is deleted."""

    key: str
    version_id: str
    is_marker: bool = False


@dataclass(frozen=True, kw_only=True)
class VersionCursor:
    """Where the next page of versions begins."""

    key: str
    version_id: str


@dataclass(frozen=True, kw_only=True)
class VersionPage:
    """Versions and marks of deletion; ``next`` is None after the last page."""

    versions: tuple[ObjectVersion, ...]
    next: VersionCursor | None


@dataclass(frozen=True, kw_only=True)
class FailedKey:
    """A key that is not deleted, and what the store said of it."""

    key: str
    code: str  # the store's own word, such as AccessDenied
    message: str = ""

    @property
    def kind(self) -> ErrorKind:
        return kind_of(self.code)


@dataclass(frozen=True, kw_only=True)
class BatchResult:
    """What became of each key of a batch."""

    deleted: tuple[str, ...]  # confirmed; a key that was not there counts
    errors: tuple[FailedKey, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ObjectInfo:
    """What is known of an object without reading it."""

    size: int  # bytes
    modified_at: dt.datetime


@dataclass(frozen=True, kw_only=True)
class SignedUpload:
    """A request that puts one object into the store, with nobody's credentials but its own."""

    url: str
    method: str = "PUT"
    headers: Mapping[str, str] = field(default_factory=dict)  # to be sent as they are
