"""Announcing an upload."""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from jobs.clock import from_now
from jobs.objectstore import ObjectStore, SignedUpload, open_store
from jobs.transactions import short_transaction
from retention import conf
from retention.models import UploadReservation
from retention.uploads.address import local_upload
from retention.uploads.errors import ContentTypeError, UploadSecondsError, UploadSizeError
from retention.uploads.names import safe_name
from retention.uploads.owners import owner_key
from retention.uploads.quotas import default_quota, take_share
from retention.uploads.values import Quota

STAGED = "staged/"
_CONTENT_TYPE = re.compile(r"[\x21-\x7e][\x20-\x7e]{0,254}")


@dataclass(frozen=True, kw_only=True)
class Reserved:
    """A reservation, and the request that uploads its object until then."""

    id: int
    url: str  # carries its own permission: for the uploader only
    method: str
    headers: Mapping[str, str]  # to be sent as they are
    expires_at: dt.datetime
    key: str  # where the object will be kept


@dataclass(frozen=True, kw_only=True)
class Announced:
    """What is to be uploaded, checked."""

    owner: str
    filename: str
    size: int
    content_type: str
    seconds: int


def reserve(
    owner: object,
    *,
    filename: str,
    size: int,
    content_type: str = "",
    prefix: str = "",
    seconds: int | None = None,
    quota: Quota | None = None,
    bucket: str | None = None,
) -> Reserved:
    """
    Take a slot of the owner's quota and ``size`` bytes; return the address for the upload.

    ``owner`` is a saved object or a key. The object will be kept at ``prefix``, a random part and
    the file's name in ``bucket`` (``UPLOAD_BUCKET``), if it is finalised within ``seconds``
    (``UPLOAD_SECONDS``). S3 is asked nothing; in a directory the bucket is made. Call it in a
    transaction of READ COMMITTED, the default, or in none. Raises ``QuotaExceededError``,
    ``UploadError`` for what cannot be reserved, and ``StoreError`` for a name that the store
    cannot hold.
    """
    announced = Announced(
        owner=owner_key(owner),
        filename=safe_name(filename),
        size=_checked_size(size),
        content_type=_checked_type(content_type),
        seconds=_checked_seconds(conf.UPLOAD_SECONDS.get() if seconds is None else seconds),
    )
    place = bucket or conf.UPLOAD_BUCKET.get()
    store = open_store()
    row = _new_row(announced, store, bucket=place, prefix=prefix)
    # Signed before the row's time begins, so that the address ends before the reservation does.
    signed = store.sign_upload(
        place,
        row.staged_key,
        seconds=announced.seconds,
        size=announced.size,
        content_type=announced.content_type,
    )
    if signed is None:
        # Now, since a directory that is not there is not known to hold no object.
        store.create_bucket(place)
        signed = local_upload(row)
    return _insert(row, signed, seconds=announced.seconds, quota=quota or default_quota())


def _new_row(
    announced: Announced, store: ObjectStore, *, bucket: str, prefix: str
) -> UploadReservation:
    name = uuid.uuid4().hex
    row = UploadReservation(
        owner=announced.owner,
        endpoint=store.endpoint,
        bucket=bucket,
        staged_key=f"{STAGED}{name}",
        key=f"{prefix}{name}/{announced.filename}",
        filename=announced.filename,
        size=announced.size,
        content_type=announced.content_type,
    )
    store.check_key(row.key)
    return row


def _insert(
    row: UploadReservation, signed: SignedUpload, *, seconds: int, quota: Quota
) -> Reserved:
    with short_transaction("default"):
        take_share(row.owner, quota=quota, size=row.size)
        row.expires_at = from_now(seconds * 1000)
        row.save(force_insert=True)
        row.refresh_from_db(fields=("expires_at",))
    return Reserved(
        id=row.pk,
        url=signed.url,
        method=signed.method,
        headers=signed.headers,
        expires_at=row.expires_at,
        key=row.key,
    )


def _checked_size(size: object) -> int:
    longest = conf.UPLOAD_MAX_BYTES.get()
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= longest:
        raise UploadSizeError(size, longest)
    return size


def _checked_seconds(seconds: object) -> int:
    longest = conf.UPLOAD_SECONDS.maximum
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 1 <= seconds <= longest:
        raise UploadSecondsError(seconds, longest)
    return seconds


def _checked_type(content_type: str) -> str:
    if content_type and not _CONTENT_TYPE.fullmatch(content_type):
        raise ContentTypeError(content_type)
    return content_type
