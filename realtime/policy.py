"""How the outbox is claimed."""

from __future__ import annotations

from functools import lru_cache

from django.db.models import F

from jobs.claims import ClaimPolicy, Counts, Lease
from jobs.claims.pace import Pace
from jobs.clock import ClockTime
from jobs.conf import RETRY_BACKOFF_MS
from realtime import conf
from realtime.models import OutboxEvent, OutboxStatus

LOOK_BACK_SECONDS = 1.0


def outbox_policy() -> ClaimPolicy:
    """Return the policy by the settings as they are now."""
    return _policy(
        conf.LEASE_MS.get(),
        conf.HEARTBEAT_MS.get(),
        conf.CLAIM_BATCH.get(),
        conf.MAX_ATTEMPTS.get(),
        RETRY_BACKOFF_MS.get(),
    )


@lru_cache(maxsize=8)
def _policy(
    lease_ms: int, heartbeat_ms: int, batch: int, max_attempts: int, backoff_ms: tuple[int, ...]
) -> ClaimPolicy:
    conf.check_heartbeat(lease_ms=lease_ms, heartbeat_ms=heartbeat_ms)
    return ClaimPolicy(
        model=OutboxEvent,
        # An event whose delivery kills its worker ends as well.
        counts=Counts.ON_CLAIM,
        max_attempts=max_attempts,
        expiry=Lease(ms=lease_ms, heartbeat_ms=heartbeat_ms),
        order=("created_at", "id"),
        # Events of one claim are delivered in this order.
        sort=(F("id").asc(),),
        order_key="ordering_key",
        batch=batch,
        whole_claims=True,
        durable_claims=False,
        backoff_ms=backoff_ms,
        done_status=OutboxStatus.COMPLETED,
        dead_status=OutboxStatus.FAILED,
        on_bury={"finished_at": ClockTime()},
        # A transaction that was long in committing wrote rows that lie behind.
        pace=Pace(longest_seconds=LOOK_BACK_SECONDS, looks_back_when_woken=True),
    )
