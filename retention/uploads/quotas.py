"""What an owner has, and one more of it only if there is room."""

from __future__ import annotations

import hashlib

from django.db import connection
from django.db.models import Count, Sum

from retention import conf
from retention.models import UploadReservation
from retention.uploads.errors import IsolationError, QuotaExceededError
from retention.uploads.owners import owner_key
from retention.uploads.values import Quota, Usage

HOLD = "SELECT pg_advisory_xact_lock(%s), current_setting('transaction_isolation')"


def usage_of(owner: object) -> Usage:
    """Return what an owner has now, kept uploads included."""
    rows = UploadReservation.objects.filter(owner=owner_key(owner))
    found = rows.aggregate(slots=Count("pk"), bytes=Sum("size"))
    return Usage(slots=found["slots"], bytes=int(found["bytes"] or 0))


def default_quota() -> Quota:
    """Return the quota of the settings."""
    return Quota(slots=conf.UPLOAD_QUOTA_SLOTS.get(), bytes=conf.UPLOAD_QUOTA_BYTES.get())


def take_share(owner: str, *, quota: Quota, size: int) -> None:
    """
    Hold the owner until the end of the transaction, and see that there is room for one more.

    Whoever else reserves for this owner waits, and then sees the row that was added: counting
    alone, two at once would both find the last slot free. Raises ``QuotaExceededError``, and
    ``IsolationError`` where that row would not be seen.
    """
    _hold(owner)
    usage = usage_of(owner)
    if not quota.fits(usage, size=size):
        raise QuotaExceededError(owner, usage=usage, quota=quota, size=size)


def _hold(owner: str) -> None:
    digest = hashlib.sha256(f"retention.uploads:{owner}".encode()).digest()
    key = int.from_bytes(digest[:8], signed=True)
    with connection.cursor() as cursor:
        cursor.execute(HOLD, [key])
        (_, level) = cursor.fetchone()
    if level != "read committed":
        raise IsolationError(level)
