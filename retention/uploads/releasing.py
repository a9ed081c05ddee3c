"""Letting go of an upload: out of the store first, then the row, and with it the quota."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from django.db.models import F, Q

from jobs.failure import headline
from jobs.objectstore import ErrorKind, StoreError, open_store
from jobs.transactions import short_transaction
from retention.models import UploadReservation, UploadStatus
from retention.uploads.errors import ReservationStateError, UnknownReservationError
from retention.uploads.finalizing import STATE_WORDS
from retention.uploads.owners import owner_key

KEPT_WORDS = "is kept: discard it"
ABORTABLE = Q(status=UploadStatus.PENDING)


def abort(reservation: int, *, owner: object = None) -> bool:
    """
    Give a reservation up before its time; return whether it is gone already.

    False: the store did not answer, and ``retention.uploads`` does it later. Raises
    ``UnknownReservationError``, and ``ReservationStateError`` for one that is kept or being
    finalised.
    """
    return _let_go(reservation, owner, ABORTABLE, doing="aborted")


def discard(reservation: int, *, owner: object = None) -> bool:
    """Delete a kept object, or give a reservation up; as ``abort``."""
    allowed = ABORTABLE | Q(status=UploadStatus.COMPLETED)
    return _let_go(reservation, owner, allowed, doing="discarded")


def release(row: UploadReservation) -> None:
    """
    Remove all that there is of an expiring reservation, then the row.

    Doing it twice, or two at once, is doing it once. Raises what the store raises; then the row
    stays as it is, with the error and with its share of the quota.
    """
    try:
        _remove_objects(row)
    except Exception as error:
        _note(row, error)
        raise
    with short_transaction("default"):
        UploadReservation.objects.filter(pk=row.pk, status=UploadStatus.EXPIRING).delete()


def remove_staged(row: UploadReservation) -> None:
    """Abort the upload and remove its staged object. Raises ``StoreError``."""
    store = open_store(row.endpoint)
    with _without_bucket():
        for failed in store.abort_uploads(row.bucket, prefix=row.staged_key).errors:
            raise StoreError(f"aborting {failed.key!r}", code=failed.code, message=failed.message)
        store.delete(row.bucket, row.staged_key)


def _remove_objects(row: UploadReservation) -> None:
    remove_staged(row)
    if row.moving_at is not None:
        with _without_bucket():
            open_store(row.endpoint).delete(row.bucket, row.key)


@contextlib.contextmanager
def _without_bucket() -> Iterator[None]:
    """Nothing is left to be removed of a bucket that is not there."""
    try:
        yield
    except StoreError as error:
        if error.kind is not ErrorKind.NO_BUCKET:
            raise


def _let_go(reservation: int, owner: object, allowed: Q, *, doing: str) -> bool:
    rows = UploadReservation.objects.filter(pk=reservation)
    if owner is not None:
        rows = rows.filter(owner=owner_key(owner))
    with short_transaction("default"):
        taken = rows.filter(allowed).update(status=UploadStatus.EXPIRING)
    row = rows.first()
    if row is None:
        raise UnknownReservationError(reservation)
    if not taken and row.status != UploadStatus.EXPIRING:
        words = STATE_WORDS.get(row.status, KEPT_WORDS)
        raise ReservationStateError(reservation, doing=doing, why=words)
    try:
        release(row)
    except StoreError:
        return False
    return True


def _note(row: UploadReservation, error: Exception) -> None:
    with short_transaction("default"):
        UploadReservation.objects.filter(pk=row.pk).update(
            tries=F("tries") + 1, last_error=headline(error)
        )
