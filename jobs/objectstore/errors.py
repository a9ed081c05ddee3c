"""What object stores raise. Constructors take data, the classes own the text."""

from __future__ import annotations

from jobs.errors import EngineroomError
from jobs.objectstore.kinds import INVALID_KEY, ErrorKind, kind_of


class EndpointError(EngineroomError, ValueError):
    """A URL that leads to no store. ``masked`` is the URL without its secrets."""

    def __init__(self, masked: str, problem: str) -> None:
        self.masked = masked
        self.problem = problem
        super().__init__(f"{masked} is no object store: {problem}.")


class StoreError(EngineroomError):
    """A store that did not do what it was asked to."""

    def __init__(
        self, doing: str, *, code: str, message: str = "", status: int | None = None
    ) -> None:
        self.code = code
        self.message = message
        self.kind: ErrorKind = kind_of(code, status=status)
        said = f"{code}: {message}" if message else code
        super().__init__(f"{doing}: {said}")


class NoSuchBucketError(StoreError):
    """The bucket is not there."""

    def __init__(self, doing: str, bucket: str) -> None:
        self.bucket = bucket
        super().__init__(doing, code="NoSuchBucket", message=f"there is no bucket {bucket!r}")


class NoSuchObjectError(StoreError):
    """The object is not there."""

    def __init__(self, doing: str, bucket: str, key: str) -> None:
        self.key = key
        super().__init__(doing, code="NoSuchKey", message=f"{bucket!r} has no {key!r}")


class BucketNotEmptyError(StoreError):
    """A bucket that still holds something, so that it cannot be removed."""

    def __init__(self, bucket: str) -> None:
        super().__init__(
            f"removing {bucket!r}", code="BucketNotEmpty", message="it still holds something"
        )


class InvalidBucketError(StoreError, ValueError):
    """A name that no bucket can have."""

    def __init__(self, bucket: object) -> None:
        super().__init__(
            f"the bucket {bucket!r}",
            code="InvalidBucketName",
            message="a name has up to 255 ASCII letters, digits, dots, hyphens and underscores, "
            "and begins with a letter or digit",
        )


class InvalidKeyError(StoreError, ValueError):
    """A key that the store cannot hold."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"the key {key!r}", code=INVALID_KEY, message=problem)


class ObjectTooBigError(StoreError):
    """More bytes than were agreed on; nothing of them was kept."""

    def __init__(self, key: str, limit: int) -> None:
        super().__init__(
            f"writing {key!r}", code="EntityTooLarge", message=f"it has more than {limit} bytes"
        )
