"""What uploads raise. Constructors take data, the classes own the text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.errors import EngineroomError, PartlyFailedError
from retention.uploads.values import Quota, Usage


class UploadError(EngineroomError):
    """Base of what is refused to somebody who uploads."""


class OwnerError(UploadError, ValueError):
    """Something that is nobody's key."""

    def __init__(self, owner: object) -> None:
        super().__init__(
            f"{owner!r} owns nothing: give a saved object, or a text of 1 to 200 characters."
        )


class UploadSizeError(UploadError, ValueError):
    """A size that cannot be reserved."""

    def __init__(self, size: object, longest: int) -> None:
        super().__init__(
            f"An upload of {size} bytes is not possible: from 0 to {longest} are"
            " (UPLOAD_MAX_BYTES)."
        )


class UploadSecondsError(UploadError, ValueError):
    """A time for which nothing can be reserved."""

    def __init__(self, seconds: object, longest: int) -> None:
        super().__init__(f"An upload cannot be reserved for {seconds} s: from 1 to {longest} are.")


class ContentTypeError(UploadError, ValueError):
    """A content type that cannot stand in a header."""

    def __init__(self, content_type: str) -> None:
        super().__init__(f"{content_type!r} is no content type: write it like image/png.")


class QuotaExceededError(UploadError):
    """One upload more than its owner may have."""

    def __init__(self, owner: str, *, usage: Usage, quota: Quota, size: int) -> None:
        self.usage, self.quota = usage, quota
        super().__init__(
            f"{owner} has {usage.slots} of {quota.slots} uploads and {usage.bytes} of "
            f"{quota.bytes} bytes: there is no room for one more of {size} bytes."
        )


class IsolationError(UploadError):
    """A transaction that would not see what others have reserved meanwhile."""

    def __init__(self, level: str) -> None:
        super().__init__(
            f"A quota cannot be kept at the isolation level {level}: reserve in a transaction of "
            "READ COMMITTED, or in none."
        )


class UploadAddressMissingError(EngineroomError):
    """A store without addresses of its own, in a project that includes none either."""

    def __init__(self) -> None:
        super().__init__(
            "The object store has no upload addresses: add "
            'path("uploads/", include("retention.uploads.urls")) to the project\'s URLs.'
        )


class UnknownReservationError(UploadError):
    """No such reservation, or none of this owner: never there, or released."""

    def __init__(self, reservation: object) -> None:
        super().__init__(
            f"There is no upload reservation {reservation}: it was released, or never was."
        )


class ReservationStateError(UploadError):
    """A reservation in a state that does not allow it."""

    def __init__(self, reservation: int, *, doing: str, why: str) -> None:
        self.why = why
        super().__init__(f"Upload reservation {reservation} cannot be {doing}: it {why}.")


class NotUploadedError(UploadError):
    """Finalised before there was anything."""

    def __init__(self, reservation: int) -> None:
        super().__init__(f"Nothing was uploaded for reservation {reservation} yet.")


class WrongSizeError(UploadError):
    """An object that is not what was announced."""

    def __init__(self, reservation: int, *, size: int, found: int) -> None:
        super().__init__(
            f"The upload of reservation {reservation} has {found} bytes and {size} were announced: "
            "upload it again."
        )


class UploadsNotReleasedError(PartlyFailedError):
    """A pass in which some could not be released; they keep their quota and are tried again."""

    def __init__(self, summary: Mapping[str, Any]) -> None:
        super().__init__(
            f"{summary['failed']} reservations could not be released, {summary['released']} were; "
            f"the first: {summary['error']}",
            dict(summary),
        )
