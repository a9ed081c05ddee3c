"""
What an operator may do to bucket deletions: requeue them, cancel them.

Each verb is guarded by the rows' state, so that pressing twice acts once, and writes one row
of the audit in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from deletions.models import LIVE, BucketDeletionJob, DeletionStatus
from deletions.verbs import AFRESH
from jobs import notifier
from jobs.audit import Outcome, Refusal
from jobs.models.audit import Via
from jobs.verbs.rows import ids_of, record_rows, refusals

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

Buckets = Iterable[int] | QuerySet[BucketDeletionJob]
TABLE = BucketDeletionJob._meta.db_table
REQUEUABLE = Q(
    status__in=(DeletionStatus.ABANDONED, DeletionStatus.FAILED, DeletionStatus.CANCELLED)
)
CANCELLABLE = Q(status__in=LIVE)
LOOKS = 5
ANOTHER = "was cancelled, and the same bucket has a newer deletion"
STATUS_WORDS: Mapping[str, str] = {
    DeletionStatus.PENDING: "is pending and due already",
    DeletionStatus.PROCESSING: "is being worked on right now",
    DeletionStatus.FAILED: "has failed",
    DeletionStatus.DONE: "is done",
    DeletionStatus.ABANDONED: "is abandoned",
    DeletionStatus.CANCELLED: "was cancelled",
}
REQUEUE_WORDS = {**STATUS_WORDS, DeletionStatus.CANCELLED: ANOTHER}


def requeue(
    buckets: Buckets, *, actor: AbstractBaseUser | None, via: Via, reason: str = ""
) -> Outcome:
    """
    Make jobs due now that were abandoned, cancelled, or wait for another attempt.

    No attempts are counted then. Anything else is left alone, and the answer says why.
    """
    asked = ids_of(buckets)
    for _ in range(LOOKS - 1):
        try:
            return _requeue(asked, actor=actor, via=via, reason=reason)
        except IntegrityError:  # another job of the bucket was queued at this moment
            continue
    return _requeue(asked, actor=actor, via=via, reason=reason)


def cancel(
    buckets: Buckets, *, actor: AbstractBaseUser | None, via: Via, reason: str = ""
) -> Outcome:
    """
    Delete no more of these buckets; what is deleted stays so.

    A worker that is at it has lost its claim, and stops before its next batch.
    """
    asked = ids_of(buckets)
    with transaction.atomic():
        rows = BucketDeletionJob.objects.filter(CANCELLABLE, pk__in=asked)
        changed = list(rows.order_by("pk").select_for_update().values_list("pk", flat=True))
        BucketDeletionJob.objects.filter(pk__in=changed).update(
            **dict.fromkeys(BucketDeletionJob.CLAIM_COLUMNS),
            status=DeletionStatus.CANCELLED,
            next_retry_at=None,
            abandoned_at=None,
        )
        refused = why_left(set(asked) - set(changed))
        record_rows(BucketDeletionJob, changed, verb="cancel", actor=actor, via=via, reason=reason)
    return Outcome(changed=tuple(changed), refused=refused)


def requeuable() -> QuerySet[BucketDeletionJob]:
    """Return what can be requeued: a cancelled job only while its bucket has no newer one."""
    newer = Q(status=DeletionStatus.CANCELLED, pk__gt=OuterRef("pk"))
    others = BucketDeletionJob.objects.filter(
        newer | Q(status__in=LIVE),
        endpoint=OuterRef("endpoint"),
        bucket_name=OuterRef("bucket_name"),
        prefix=OuterRef("prefix"),
    ).exclude(pk=OuterRef("pk"))
    return BucketDeletionJob.objects.filter(REQUEUABLE).exclude(Exists(others))


def why_left(ids: Iterable[int], *, words: Mapping[str, str] = STATUS_WORDS) -> tuple[Refusal, ...]:
    """Return why jobs are left alone, by id."""
    rows = BucketDeletionJob.objects.only("status")
    return refusals(ids, rows=rows, why=lambda row: words[row.status])


def _requeue(asked: list[int], *, actor: AbstractBaseUser | None, via: Via, reason: str) -> Outcome:
    with transaction.atomic():
        rows = requeuable().filter(pk__in=asked).order_by("pk")
        changed = list(rows.select_for_update(of=("self",)).values_list("pk", flat=True))
        BucketDeletionJob.objects.filter(pk__in=changed).update(**AFRESH)
        refused = why_left(set(asked) - set(changed), words=REQUEUE_WORDS)
        record_rows(BucketDeletionJob, changed, verb="requeue", actor=actor, via=via, reason=reason)
        if changed:
            notifier.wake(TABLE)
    return Outcome(changed=tuple(changed), refused=refused)
