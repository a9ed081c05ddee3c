"""The file system's errors as a store's."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from jobs.objectstore.errors import NoSuchBucketError, StoreError
from jobs.objectstore.values import FailedKey

_CODES = {
    errno.EACCES: "AccessDenied",
    errno.EPERM: "AccessDenied",
    errno.EROFS: "AccessDenied",
    errno.ENODEV: "ServiceUnavailable",
    errno.ENOSPC: "ServiceUnavailable",
    errno.EDQUOT: "ServiceUnavailable",
    errno.EIO: "InternalError",
    errno.ESTALE: "InternalError",
    errno.EMFILE: "InternalError",
    errno.ENFILE: "InternalError",
    errno.EBUSY: "InternalError",
}


@contextlib.contextmanager
def told(doing: str) -> Iterator[None]:
    """Turn an ``OSError`` into a ``StoreError``."""
    try:
        yield
    except OSError as error:
        raise StoreError(doing, code=code_of(error), message=words_of(error)) from error


@contextlib.contextmanager
def told_of_bucket(doing: str, bucket: str) -> Iterator[None]:
    """As ``told``, around what opens the bucket's own directory first."""
    with told(doing):
        try:
            yield
        except FileNotFoundError:
            raise NoSuchBucketError(doing, bucket) from None


def failed(key: str, error: OSError) -> FailedKey:
    """Return what an error says of a key."""
    return FailedKey(key=key, code=code_of(error), message=words_of(error))


def code_of(error: OSError) -> str:
    """Return the code that S3 has for an error, or the system's own."""
    number = error.errno or 0
    return _CODES.get(number, errno.errorcode.get(number, "InternalError"))


def words_of(error: OSError) -> str:
    """Return the system's words."""
    return error.strerror or str(error)
