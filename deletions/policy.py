"""How deletions are claimed and given up."""

from __future__ import annotations

from functools import lru_cache

from django.db.models import Value

from deletions import conf
from deletions.abandoning import report_abandoned
from deletions.models import DeletionStatus, UserDeletion
from jobs.claims import ClaimPolicy, Counts, StaleAfter
from jobs.clock import ClockTime
from jobs.conf import CLAIM_STALE_MS, RETRY_BACKOFF_MS

# A big account does not hold up the next one.
HANDLERS = 2


def deletion_policy() -> ClaimPolicy:
    """Return the policy by the settings as they are now."""
    return _policy(CLAIM_STALE_MS.get(), conf.MAX_ATTEMPTS.get(), RETRY_BACKOFF_MS.get())


@lru_cache(maxsize=8)
def _policy(stale_ms: int, max_attempts: int, backoff_ms: tuple[int, ...]) -> ClaimPolicy:
    return ClaimPolicy(
        model=UserDeletion,
        # The cap holds for a deletion that kills its process before any catch runs.
        counts=Counts.ON_CLAIM,
        max_attempts=max_attempts,
        expiry=StaleAfter(ms=stale_ms),
        batch=HANDLERS,
        handlers=HANDLERS,
        backoff_ms=backoff_ms,
        done_status=DeletionStatus.DONE,
        dead_status=DeletionStatus.ABANDONED,
        on_claim={"current_step": Value(None)},
        on_bury={"abandoned_at": ClockTime()},
        on_dead=report_abandoned,
    )
