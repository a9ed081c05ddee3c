"""Keeping what was uploaded."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping

from django.db.models import F, Q, QuerySet

from jobs.clock import ClockTime, Now, from_now
from jobs.objectstore import ObjectStore, StoreError, open_store
from jobs.transactions import short_transaction
from retention.models import UploadReservation, UploadStatus
from retention.uploads.errors import (
    NotUploadedError,
    ReservationStateError,
    UnknownReservationError,
    WrongSizeError,
)
from retention.uploads.owners import owner_key

logger = logging.getLogger(__name__)
# How long a finaliser is believed to be at it: a server-side copy of gigabytes takes minutes.
CLAIM_MS = 15 * 60_000
FREE = Q(status=UploadStatus.PENDING) | Q(status=UploadStatus.COMPLETING, claimed_until__lte=Now())
STATE_WORDS: Mapping[str, str] = {
    UploadStatus.PENDING: "was changed at this moment: ask again",
    UploadStatus.COMPLETING: "is being finalised by somebody else",
    UploadStatus.EXPIRING: "has expired and is being released",
}


def finalize(reservation: int, *, owner: object = None) -> UploadReservation:
    """
    Keep the uploaded object and return its row, which stays until it is discarded.

    Once more does nothing. With ``owner``, only that owner's reservations are known: pass it
    where the id comes from outside. A reservation whose time is over can be finalised until it is
    released. Raises ``UnknownReservationError``, ``ReservationStateError``,
    ``NotUploadedError``, ``WrongSizeError``, and ``StoreError``; after any of them but the first
    two the reservation is as before.
    """
    rows = UploadReservation.objects.filter(pk=reservation)
    if owner is not None:
        rows = rows.filter(owner=owner_key(owner))
    token = uuid.uuid4()
    row = _take(rows, token)
    if row is None:
        return _completed(rows, reservation)
    store = open_store(row.endpoint)
    try:
        _keep(store, row)
    except Exception:
        _give_back(row, token)
        raise
    return _complete(store, row, token)


def _take(rows: QuerySet[UploadReservation], token: uuid.UUID) -> UploadReservation | None:
    with short_transaction("default"):
        taken = rows.filter(FREE).update(
            status=UploadStatus.COMPLETING,
            claim_token=token,
            claimed_until=from_now(CLAIM_MS),
            moving_at=ClockTime(),
        )
    return rows.filter(claim_token=token).first() if taken else None


def _completed(rows: QuerySet[UploadReservation], reservation: int) -> UploadReservation:
    row = rows.first()
    if row is None:
        raise UnknownReservationError(reservation)
    if row.status == UploadStatus.COMPLETED:
        return row
    raise ReservationStateError(row.pk, doing="finalised", why=STATE_WORDS[row.status])


def _keep(store: ObjectStore, row: UploadReservation) -> None:
    staged = store.head(row.bucket, row.staged_key)
    if staged is None:
        # A finaliser that died may have moved it.
        kept = store.head(row.bucket, row.key)
        if kept is None or kept.size != row.size:
            raise NotUploadedError(row.pk)
        return
    if staged.size != row.size:
        raise WrongSizeError(row.pk, size=row.size, found=staged.size)
    store.move(row.bucket, row.staged_key, row.key)


def _give_back(row: UploadReservation, token: uuid.UUID) -> None:
    with short_transaction("default"):
        UploadReservation.objects.filter(pk=row.pk, claim_token=token).update(
            status=UploadStatus.PENDING, claim_token=None, claimed_until=None
        )


def _complete(store: ObjectStore, row: UploadReservation, token: uuid.UUID) -> UploadReservation:
    # Another's address may put a staged object until it ends; this site's looks at the row.
    is_signed_elsewhere = store.endpoint.startswith("s3:")
    with short_transaction("default"):
        kept = UploadReservation.objects.filter(pk=row.pk, claim_token=token).update(
            status=UploadStatus.COMPLETED,
            claim_token=None,
            claimed_until=None,
            completed_at=ClockTime(),
            staged_until=F("expires_at") if is_signed_elsewhere else None,
            last_error="",
        )
    if not kept:
        _take_back(store, row)
        raise ReservationStateError(row.pk, doing="finalised", why="was released meanwhile")
    row.refresh_from_db()
    return row


def _take_back(store: ObjectStore, row: UploadReservation) -> None:
    """Remove what was moved after the release had looked for it."""
    logger.warning("stale_finalize_rejected id=%s", row.pk)
    # Unless another finaliser has it now, whose object it is.
    if UploadReservation.objects.filter(pk=row.pk).exclude(status=UploadStatus.EXPIRING).exists():
        return
    try:
        store.delete(row.bucket, row.key)
    except StoreError as error:
        logger.warning("kept_not_removed id=%s error=%s", row.pk, error)
