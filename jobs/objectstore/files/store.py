"""
A directory as an object store: below it a directory per bucket, below that a file per key.

Files that were put there by others are objects too. Keys are paths as they stand; one that
is none, such as ``a//b`` or ``../x``, is refused. ``.uploads`` holds what is being written.
"""

from __future__ import annotations

import datetime as dt
import errno
import itertools
import os
import stat
from collections.abc import Sequence
from typing import BinaryIO

from jobs.objectstore.endpoints import FileEndpoint
from jobs.objectstore.errors import BucketNotEmptyError, NoSuchObjectError
from jobs.objectstore.files.deleting import delete_keys, delete_path
from jobs.objectstore.files.faults import failed, told, told_of_bucket
from jobs.objectstore.files.keys import split_key
from jobs.objectstore.files.listing import walk
from jobs.objectstore.files.tree import NOT_THERE, opened, remove_empty, remove_empty_below
from jobs.objectstore.files.writing import UPLOADS, Upload, rename
from jobs.objectstore.guard import check_request
from jobs.objectstore.port import ObjectStore, Source, check_bucket
from jobs.objectstore.values import (
    PAGE_LIMIT,
    BatchResult,
    FailedKey,
    ObjectInfo,
    ObjectVersion,
    Page,
    SignedUpload,
    VersionCursor,
    VersionPage,
)

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FileStore(ObjectStore):
    """Objects below a directory. It keeps no versions, and no address of its own."""

    def __init__(self, directory: str) -> None:
        self.root = directory
        self.endpoint = FileEndpoint(directory=directory).public

    def list_page(
        self, bucket: str, *, prefix: str = "", after: str = "", limit: int = PAGE_LIMIT
    ) -> Page:
        check_bucket(bucket)
        check_request()
        with told_of_bucket(f"listing {bucket!r}", bucket):
            found = walk(self.root, [bucket], prefix=prefix, after=after)
            keys = tuple(itertools.islice(found, limit + 1))
        return Page(keys=keys[:limit], is_last=len(keys) <= limit)

    def delete_batch(self, bucket: str, keys: Sequence[str]) -> BatchResult:
        self._check_bucket(bucket)
        return delete_keys(self.root, bucket, keys)

    def list_versions(
        self,
        bucket: str,
        *,
        prefix: str = "",
        after: VersionCursor | None = None,
        limit: int = PAGE_LIMIT,
    ) -> VersionPage:
        self._check_bucket(bucket)
        return VersionPage(versions=(), next=None)

    def delete_versions(self, bucket: str, versions: Sequence[ObjectVersion]) -> BatchResult:
        return self.delete_batch(bucket, [version.key for version in versions])

    def abort_uploads(self, bucket: str, *, prefix: str = "") -> BatchResult:
        self._check_bucket(bucket)
        aborted: list[str] = []
        errors: list[FailedKey] = []
        place = [UPLOADS, bucket]
        with told(f"listing the uploads of {bucket!r}"):
            try:
                found = list(walk(self.root, place, prefix=prefix))
            except FileNotFoundError:
                found = []
        for path in found:
            key = path.rpartition("/")[0]
            try:
                delete_path(self.root, place, path.split("/"))
                aborted.append(key)
            except OSError as error:
                errors.append(failed(key, error))
        return BatchResult(deleted=tuple(aborted), errors=tuple(errors))

    def create_bucket(self, bucket: str) -> None:
        check_bucket(bucket)
        with told(f"making {bucket!r}"), opened(self.root, [bucket], make_from=0):
            pass

    def drop_bucket(self, bucket: str) -> None:
        check_bucket(bucket)
        check_request()
        doing = f"removing {bucket!r}"
        with told_of_bucket(doing, bucket):
            try:
                self._drop(UPLOADS, bucket, missing_is_fine=True)
                self._drop(bucket)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                raise BucketNotEmptyError(bucket) from None

    def head(self, bucket: str, key: str) -> ObjectInfo | None:
        check_bucket(bucket)
        *names, name = split_key(key)
        with told(f"looking at {key!r}"):
            try:
                with opened(self.root, [bucket, *names]) as directory:
                    found = os.stat(name, dir_fd=directory, follow_symlinks=False)
            except OSError as error:
                if error.errno in NOT_THERE:
                    return None
                raise
        if not stat.S_ISREG(found.st_mode):
            return None
        modified_at = dt.datetime.fromtimestamp(found.st_mtime, tz=dt.UTC)
        return ObjectInfo(size=found.st_size, modified_at=modified_at)

    def open(self, bucket: str, key: str) -> BinaryIO:
        check_bucket(bucket)
        *names, name = split_key(key)
        doing = f"opening {key!r}"
        with told(doing):
            try:
                with opened(self.root, [bucket, *names]) as directory:
                    file = os.fdopen(os.open(name, READ, dir_fd=directory), "rb")
            except OSError as error:
                if error.errno in NOT_THERE:
                    raise NoSuchObjectError(doing, bucket, key) from None
                raise
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise NoSuchObjectError(doing, bucket, key)
        return file

    def write(self, bucket: str, key: str, source: Source, *, limit: int | None = None) -> int:
        self._check_bucket(bucket)
        names = split_key(key)
        with told(f"writing {key!r}"), Upload(self.root, bucket, names) as upload:
            size = upload.fill(source, limit=limit)
            upload.finish()
        return size

    def move(self, bucket: str, source: str, target: str) -> None:
        self._check_bucket(bucket)
        before, behind = split_key(source), split_key(target)
        doing = f"moving {source!r} to {target!r}"
        with told(doing):
            if self.head(bucket, source) is None:
                raise NoSuchObjectError(doing, bucket, source)
            rename(self.root, [bucket, *before], [bucket, *behind])
            remove_empty(self.root, [bucket, *before[:-1]], keep=1)

    def delete(self, bucket: str, key: str) -> None:
        self._check_bucket(bucket)
        with told(f"deleting {key!r}"):
            delete_path(self.root, [bucket], split_key(key))

    def check_key(self, key: str) -> None:
        split_key(key)

    def sign_upload(
        self, bucket: str, key: str, *, seconds: int, size: int, content_type: str = ""
    ) -> SignedUpload | None:
        check_bucket(bucket)
        split_key(key)
        return None

    def _check_bucket(self, bucket: str) -> None:
        check_bucket(bucket)
        doing = f"opening {bucket!r}"
        with told_of_bucket(doing, bucket), opened(self.root, [bucket]):
            pass

    def _drop(self, *names: str, missing_is_fine: bool = False) -> None:
        try:
            with opened(self.root, names[:-1]) as parent:
                remove_empty_below(parent, names[-1])
        except FileNotFoundError:
            if not missing_is_fine:
                raise
