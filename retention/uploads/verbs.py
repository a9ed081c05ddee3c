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

from jobs.audit import Outcome, Refusal, record
from jobs.models.audit import Via
from retention.models import UploadReservation, UploadStatus

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

Uploads = Iterable[int] | QuerySet[UploadReservation]
TABLE = UploadReservation._meta.db_table
RELEASABLE = Q(status=UploadStatus.PENDING)
# What the audit and a caller are told of; beyond it the number is enough.
IDS_KEPT = 1000
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
    asked = _ids(uploads)
    with transaction.atomic():
        rows = UploadReservation.objects.filter(RELEASABLE, pk__in=asked)
        changed = list(rows.order_by("pk").select_for_update().values_list("pk", flat=True))
        UploadReservation.objects.filter(pk__in=changed).update(status=UploadStatus.EXPIRING)
        refused = refusals(set(asked) - set(changed))
        _audit(changed, actor=actor, via=via, reason=reason)
    return Outcome(changed=tuple(changed), refused=refused)


def refusals(ids: Iterable[int]) -> tuple[Refusal, ...]:
    """Return why reservations are left alone, by id."""
    wanted = sorted(ids)[:IDS_KEPT]
    known = dict(UploadReservation.objects.filter(pk__in=wanted).values_list("pk", "status"))
    return tuple(
        Refusal(id=key, why=STATUS_WORDS[known[key]] if key in known else "does not exist")
        for key in wanted
    )


def _ids(uploads: Uploads) -> list[int]:
    if isinstance(uploads, QuerySet):
        return sorted(set(uploads.values_list("pk", flat=True)))
    return sorted(set(uploads))


def _audit(changed: list[int], *, actor: AbstractBaseUser | None, via: Via, reason: str) -> None:
    if not changed:
        return
    target = f"{TABLE} {changed[0]}" if len(changed) == 1 else TABLE
    detail = {"count": len(changed), "ids": changed[:IDS_KEPT], "up_to": changed[-1]}
    record(actor=actor, via=via, verb="release", target=target, reason=reason, detail=detail)
