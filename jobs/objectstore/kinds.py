"""What an error of a store means for the one who asked."""

from __future__ import annotations

import enum


class ErrorKind(enum.Enum):
    """What to do about an error."""

    TRANSIENT = "transient"  # the same call may work later
    DENIED = "denied"  # this key will not go until somebody mends its permissions or lock
    GONE = "gone"  # what was to be deleted is not there: that is done
    NO_BUCKET = "no bucket"  # the bucket itself is not there
    BATCH_REFUSED = "batch refused"  # the batch as a whole, not what is in it
    OTHER = "other"


UNREACHABLE = "Unreachable"  # no answer: refused, reset, timed out
UNREADABLE = "UnreadableAnswer"
INVALID_KEY = "InvalidKey"

# https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
_KINDS = {
    ErrorKind.TRANSIENT: (
        UNREACHABLE,
        UNREADABLE,
        "InternalError",
        "OperationAborted",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequests",
    ),
    ErrorKind.DENIED: (
        "AccessDenied",
        "AllAccessDisabled",
        "AccountProblem",
        "InvalidAccessKeyId",
        "InvalidObjectState",
        "MethodNotAllowed",
        "ObjectLocked",
        "SignatureDoesNotMatch",
        "WORMProtectionViolation",
    ),
    ErrorKind.GONE: ("NoSuchKey", "NoSuchUpload", "NoSuchVersion"),
    ErrorKind.NO_BUCKET: ("NoSuchBucket",),
    # MissingContentMD5, and in the words of some stores InvalidRequest with it: they know none
    # of the newer checksums (boto/boto3#4392).
    ErrorKind.BATCH_REFUSED: (
        "InvalidRequest",
        "MalformedXML",
        "MissingContentMD5",
        "NotImplemented",
    ),
}
_BY_CODE = {code: kind for kind, codes in _KINDS.items() for code in codes}


def kind_of(code: str, *, status: int | None = None) -> ErrorKind:
    """Return the kind of an error by its code, or by the HTTP status if the code says nothing."""
    if code in _BY_CODE:
        return _BY_CODE[code]
    if status is None:
        # HEAD and some proxies answer with a number in place of a code.
        status = int(code) if code.isascii() and code.isdigit() and len(code) == 3 else 0
    if status in (408, 429) or (status >= 500 and status != 501):
        return ErrorKind.TRANSIENT
    return ErrorKind.DENIED if status in (401, 403) else ErrorKind.OTHER
