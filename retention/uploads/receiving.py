"""Taking the bytes of an upload: into the store as they come, no more than announced."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from django.http import HttpRequest, UnreadablePostError

from jobs.clock import Now
from jobs.objectstore import StoreError, open_store
from retention.models import UploadReservation, UploadStatus
from retention.uploads.errors import UploadError
from retention.uploads.reserving import STAGED

logger = logging.getLogger(__name__)


class UploaderGoneError(UploadError):
    """A connection that ended before its upload did."""

    def __init__(self) -> None:
        super().__init__("The connection ended before the upload did.")


@dataclass(frozen=True, kw_only=True)
class Body:
    """The body of a request as a source of bytes."""

    request: HttpRequest

    def read(self, size: int, /) -> bytes:
        try:
            return self.request.read(size)
        except UnreadablePostError:
            raise UploaderGoneError from None


def open_reservation(name: str) -> UploadReservation | None:
    """Return the reservation of a staged object, if it may still be uploaded."""
    rows = UploadReservation.objects.filter(
        staged_key=f"{STAGED}{name}", status=UploadStatus.PENDING, expires_at__gt=Now()
    )
    return rows.first()


def receive(row: UploadReservation, body: Body) -> bool:
    """
    Store what comes; say whether it is all that was announced, and still wanted.

    Raises ``ObjectTooBigError`` for more, ``UploaderGoneError``, and ``StoreError``.
    """
    store = open_store(row.endpoint)
    store.create_bucket(row.bucket)
    size = store.write(row.bucket, row.staged_key, body, limit=row.size)
    # Meanwhile it may have been released, or finalised with what was there before.
    is_wanted = UploadReservation.objects.filter(pk=row.pk, status=UploadStatus.PENDING).exists()
    if size == row.size and is_wanted:
        return True
    try:
        store.delete(row.bucket, row.staged_key)
    except StoreError as error:
        logger.warning("staged_not_removed id=%s error=%s", row.pk, error)
    return False
