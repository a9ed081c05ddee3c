"""
What an operator may do to upload reservations: release them before their time.

The verb is guarded by the rows' state, so that pressing twice acts once, and writes one row of
the audit in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Q, QuerySet

from jobs.audit import Outcome
from jobs.models.audit import Via
from jobs.verbs.rows import ids_of, record_rows, refusals
from retention.models import UploadReservation, UploadStatus

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

Uploads = Iterable[int] | QuerySet[UploadReservation]
RELEASABLE = Q(status=UploadStatus.PENDING)
STATUS_WORDS: Mapping[str, str] = {
    UploadStatus.PENDING: "was changed at this moment",
    UploadStatus.COMPLETING: "is being finalised right now",
    UploadStatus.COMPLETED: "is kept: its project discards it",
    UploadStatus.EXPIRING: "is being released already",
}


def release(
    uploads: Uploads, *, actor: AbstractBaseUser | None, via: Via, reason: str = ""
) -> Outcome:
    """
    Let nobody finalise these any more; the next pass of ``retention.uploads`` removes them.

    Anything but pending ones is left alone, and the answer says why. ``uploads`` are ids, or rows.
    """
    asked = ids_of(uploads)
    with transaction.atomic():
        rows = UploadReservation.objects.filter(RELEASABLE, pk__in=asked)
        changed = list(rows.order_by("pk").select_for_update().values_list("pk", flat=True))
        UploadReservation.objects.filter(pk__in=changed).update(status=UploadStatus.EXPIRING)
        left = set(asked) - set(changed)
        refused = refusals(left, rows=UploadReservation.objects.only("status"), why=_why)
        record_rows(UploadReservation, changed, verb="release", actor=actor, via=via, reason=reason)
    return Outcome(changed=tuple(changed), refused=refused)


def _why(row: UploadReservation) -> str:
    return STATUS_WORDS[row.status]
