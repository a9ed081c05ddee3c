"""What boto3 raises, as a store's errors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from botocore import exceptions, parsers

from jobs.objectstore.errors import NoSuchBucketError, StoreError
from jobs.objectstore.kinds import INVALID_KEY, UNREACHABLE, UNREADABLE, ErrorKind
from jobs.objectstore.values import FailedKey


@contextlib.contextmanager
def told(doing: str, *, bucket: str) -> Iterator[None]:
    """Turn what boto3 raises into a ``StoreError``."""
    try:
        yield
    except exceptions.ClientError as error:
        code, message, status = answer_of(error)
        if code == "NoSuchBucket":
            raise NoSuchBucketError(doing, bucket) from None
        raise StoreError(doing, code=code, message=message, status=status) from error
    except (exceptions.BotoCoreError, parsers.ResponseParserError) as error:
        raise StoreError(doing, code=code_of(error), message=str(error)) from error


def answer_of(error: exceptions.ClientError) -> tuple[str, str, int]:
    """Return code, message and HTTP status of an answer that is an error."""
    said = error.response.get("Error", {})
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    return str(said.get("Code") or status), str(said.get("Message") or ""), status


def code_of(error: Exception) -> str:
    """Return a code for what went wrong before there was an answer, or with reading it."""
    match error:
        case exceptions.NoCredentialsError() | exceptions.PartialCredentialsError():
            return "NoCredentials"
        case exceptions.CredentialRetrievalError() | exceptions.HTTPClientError():
            return UNREACHABLE
        case exceptions.ConnectionError() | exceptions.ResponseStreamingError():
            return UNREACHABLE
        case exceptions.IncompleteReadError() | parsers.ResponseParserError():
            return UNREADABLE
        case exceptions.ParamValidationError():
            return INVALID_KEY
    return type(error).__name__


def failed(key: str, error: StoreError) -> FailedKey:
    """Return what an error says of a key; a mere status is kept as the code it stands for."""
    is_bare = error.kind is ErrorKind.TRANSIENT and error.code.isdigit()
    code = "ServiceUnavailable" if is_bare else error.code
    return FailedKey(key=key, code=code, message=error.message)
