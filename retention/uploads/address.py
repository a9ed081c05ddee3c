"""The address of this site for uploads to a store that has none: signed, for one upload only."""

from __future__ import annotations

from django.core import signing
from django.urls import NoReverseMatch, reverse

from jobs.objectstore import SignedUpload
from jobs.reads.links import site_url
from retention.models import UploadReservation
from retention.uploads.errors import UploadAddressMissingError

# Its own key, so that nothing signed elsewhere is an upload.
SALT = "retention.uploads"


def local_upload(row: UploadReservation) -> SignedUpload:
    """Return the request that uploads to this site. Raises ``UploadAddressMissingError``."""
    token = signing.Signer(salt=SALT).sign(row.staged_key.rpartition("/")[2])
    try:
        path = reverse("uploads:put", args=[token])
    except NoReverseMatch:
        raise UploadAddressMissingError from None
    headers = {"Content-Type": row.content_type} if row.content_type else {}
    return SignedUpload(url=f"{site_url()}{path}", headers=headers)


def name_of(token: str) -> str | None:
    """Return the name of the staged object of an address; None if it was never given out."""
    try:
        return signing.Signer(salt=SALT).unsign(token)
    except signing.BadSignature:
        return None
