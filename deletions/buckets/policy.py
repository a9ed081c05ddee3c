"""How bucket deletions are claimed and given up."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache

from deletions import conf
from deletions.models import BucketDeletionJob, DeletionStatus
from jobs.claims import ClaimPolicy, Counts, Lease
from jobs.clock import ClockTime
from jobs.conf import RETRY_BACKOFF_MS

logger = logging.getLogger(__name__)


def bucket_policy() -> ClaimPolicy:
    """Return the policy by the settings as they are now."""
    return _policy(
        conf.BUCKET_LEASE_MS.get(),
        conf.BUCKET_CONCURRENCY.get(),
        conf.BUCKET_MAX_ATTEMPTS.get(),
        RETRY_BACKOFF_MS.get(),
    )


def report_abandoned(ids: Sequence[int]) -> None:
    """Write ``bucket_deletion_abandoned`` for jobs that have just been given up."""
    for row in BucketDeletionJob.objects.filter(pk__in=ids).order_by("pk"):
        logger.error(
            "bucket_deletion_abandoned id=%s bucket=%s endpoint=%s attempts=%s deleted=%s total=%s",
            row.pk,
            row.bucket_name,
            row.endpoint,
            row.attempts,
            row.deleted_objects,
            row.total_objects,
        )


@lru_cache(maxsize=8)
def _policy(
    lease_ms: int, concurrency: int, max_attempts: int, backoff_ms: tuple[int, ...]
) -> ClaimPolicy:
    return ClaimPolicy(
        model=BucketDeletionJob,
        # Consecutive claims without progress: the claim counts, progress sets back.
        counts=Counts.ON_CLAIM,
        max_attempts=max_attempts,
        expiry=Lease(ms=lease_ms),
        batch=concurrency,
        handlers=concurrency,
        most_in_work=concurrency,
        backoff_ms=backoff_ms,
        done_status=DeletionStatus.DONE,
        dead_status=DeletionStatus.ABANDONED,
        on_bury={"abandoned_at": ClockTime()},
        on_dead=report_abandoned,
    )
