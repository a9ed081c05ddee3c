"""What bucket deletions raise. Constructors take data, the classes own the text."""

from __future__ import annotations

from deletions.errors import StepError
from jobs.errors import EngineroomError


class SecretEndpointError(EngineroomError, ValueError):
    """An endpoint with a key and a secret, which no row keeps."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(
            f"endpoint={endpoint} was given with a key and a secret, which are not stored: put "
            "them into OBJECT_STORE_URL, or where boto3 looks for them, and leave them out here."
        )


class InvalidPrefixError(EngineroomError, ValueError):
    """A prefix that no key can have."""

    def __init__(self, prefix: str) -> None:
        super().__init__(
            f"prefix={prefix!r} begins no key: give up to 1,024 bytes of text, without NUL."
        )


class UnsettledBucketError(EngineroomError):
    """A request that met another one each time, of which nothing was to be seen afterwards."""

    def __init__(self, bucket: str) -> None:
        super().__init__(
            f"The deletion of bucket {bucket} meets another one that this transaction does not "
            "see: ask again in a transaction of its own."
        )


class UnknownBucketJobError(EngineroomError):
    """An id or a name that no bucket deletion has."""

    def __init__(self, what: str, nearest: str | None) -> None:
        hint = f"did you mean {nearest}?" if nearest else "there is none to name instead."
        super().__init__(f"There is no bucket deletion {what}; {hint}")


class StuckKeysError(EngineroomError):
    """Keys that a whole pass could not delete."""

    def __init__(self, *, count: int, key: str, code: str, message: str) -> None:
        said = f": {message}" if message else ""
        what = "1 key was" if count == 1 else f"{count:,} keys were"
        super().__init__(f"{what} not deleted; the first is {key!r}, {code}{said}")


class RefusedBatchesError(StuckKeysError):
    """A store that answers and deletes nothing for the time being."""


class RefilledBucketError(EngineroomError):
    """A bucket into which something is written as fast as it is emptied."""

    def __init__(self, bucket: str, rounds: int) -> None:
        super().__init__(
            f"Bucket {bucket} held something again after being emptied {rounds} times: find who "
            "writes to it, and take that access away."
        )


class CancelledBucketError(StepError):
    """A bucket of a user that an operator wants to keep."""

    def __init__(self, bucket: str, job_id: int) -> None:
        super().__init__(
            f"The deletion of bucket {bucket} was cancelled (job {job_id}): requeue it, then this."
        )


class BucketSnapshotError(StepError):
    """Something else than buckets in a snapshot."""

    def __init__(self, entry: object) -> None:
        super().__init__(
            f"snapshot['buckets'] holds {entry!r}: give names, or dicts of name, endpoint, prefix."
        )
