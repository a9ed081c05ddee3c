"""Writing a file so that it is there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from jobs.objectstore.errors import NoSuchBucketError, ObjectTooBigError, StoreError
from jobs.objectstore.files.tree import opened, remove_empty
from jobs.objectstore.port import Source

# Beside the buckets, whose names begin with a letter or digit.
UPLOADS = ".uploads"
CHUNK_BYTES = 256 * 1024
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# A directory can be made and be removed as empty before it is used; so often is no accident.
TRIES = 100


class Upload:
    """
    A file that is being written, at ``.uploads/BUCKET/KEY/…`` until it is finished.

    Whoever removes it there aborts the upload.
    """

    def __init__(self, root: str, bucket: str, names: Sequence[str]) -> None:
        self.root = root
        self.target = [bucket, *names]
        self.folder = [UPLOADS, *self.target]
        self.name = uuid.uuid4().hex

    def __enter__(self) -> Self:
        self._descriptor = self._create()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._descriptor)
        with contextlib.suppress(OSError), opened(self.root, self.folder) as folder:
            os.unlink(self.name, dir_fd=folder)
        remove_empty(self.root, self.folder, keep=1)

    def fill(self, source: Source, *, limit: int | None) -> int:
        """Write all that the source has; return the bytes. Raises ``ObjectTooBigError``."""
        size = 0
        while chunk := source.read(CHUNK_BYTES):
            size += len(chunk)
            if limit is not None and size > limit:
                raise ObjectTooBigError("/".join(self.target[1:]), limit)
            _write_all(self._descriptor, chunk)
        return size

    def finish(self) -> None:
        """Put the file in its place, in one step. Raises ``StoreError`` if it was aborted."""
        os.fsync(self._descriptor)
        try:
            rename(self.root, [*self.folder, self.name], self.target)
        except FileNotFoundError:
            key = "/".join(self.target[1:])
            raise StoreError(
                f"writing {key!r}", code="NoSuchUpload", message="it was aborted meanwhile"
            ) from None

    def _create(self) -> int:
        for _ in range(TRIES):
            try:
                with opened(self.root, self.folder, make_from=0) as folder:
                    return os.open(self.name, NEW, 0o600, dir_fd=folder)
            except FileNotFoundError:
                continue
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def rename(root: str, source: Sequence[str], target: Sequence[str]) -> None:
    """
    Give a file another place in a bucket, making the directories below the bucket.

    Raises ``FileNotFoundError`` if it is not there, ``NoSuchBucketError`` if its new bucket is
    not, any other ``OSError`` as it comes.
    """
    with opened(root, source[:-1]) as before:
        for _ in range(TRIES):
            try:
                _rename(before, source[-1], root, target)
            except FileNotFoundError:
                os.stat(source[-1], dir_fd=before, follow_symlinks=False)
                _check_bucket(root, target)
            else:
                return
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def _rename(before: int, name: str, root: str, target: Sequence[str]) -> None:
    # The bucket is not made: one that was removed meanwhile stays so.
    with opened(root, target[:-1], make_from=1) as behind:
        os.rename(name, target[-1], src_dir_fd=before, dst_dir_fd=behind)
        os.fsync(behind)


def _check_bucket(root: str, target: Sequence[str]) -> None:
    try:
        with opened(root, target[:1]):
            pass
    except FileNotFoundError:
        doing = f"writing {'/'.join(target[1:])!r}"
        raise NoSuchBucketError(doing, target[0]) from None


def _write_all(descriptor: int, chunk: bytes) -> None:
    rest = memoryview(chunk)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
