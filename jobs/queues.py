"""
The rows of a queue: an abstract model for every queue table.

A queue is a model on ``QueueRow`` (or ``LeasedQueueRow``), a ``ClaimPolicy`` and a handler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.db import models
from django.db.models import Q

from jobs.clock import ClockDefault

if TYPE_CHECKING:
    from collections.abc import Sequence


class QueueStatus(models.TextChoices):
    """The states that the engine itself writes. A queue adds its own final ones."""

    PENDING = "pending", "pending"  # waits for its turn, or for next_retry_at
    PROCESSING = "processing", "processing"  # claimed by a worker
    FAILED = "failed", "failed"  # retried at next_retry_at; without one, a dead letter
    DONE = "done", "done"


class QueueRow(models.Model):
    """One unit of work. The claim's four columns are set together and cleared together."""

    status = models.CharField(
        max_length=16, choices=QueueStatus.choices, db_default=QueueStatus.PENDING.value
    )
    attempts = models.SmallIntegerField(db_default=0)
    # Claims taken over from a worker that died after the work had begun.
    stale_recoveries = models.SmallIntegerField(db_default=0)
    # Times that a shutdown took the row back from work in flight.
    interruptions = models.SmallIntegerField(db_default=0)
    claimed_at = models.DateTimeField(null=True, blank=True)
    claimed_by = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001 (tied by CHECK)
    claim_token = models.UUIDField(null=True, blank=True)
    begun_at = models.DateTimeField(null=True, blank=True)
    next_retry_at = models.DateTimeField(null=True, blank=True)
    last_error = models.TextField(blank=True, db_default="")
    created_at = models.DateTimeField(db_default=ClockDefault(), editable=False)

    class Meta:
        abstract = True
        constraints: ClassVar[tuple[models.BaseConstraint, ...]] = (
            models.CheckConstraint(
                name="%(class)s_claim_matches_status",
                condition=Q(
                    status="processing",
                    claimed_at__isnull=False,
                    claimed_by__isnull=False,
                    claim_token__isnull=False,
                )
                | (
                    ~Q(status="processing")
                    & Q(
                        claimed_at__isnull=True,
                        claimed_by__isnull=True,
                        claim_token__isnull=True,
                        begun_at__isnull=True,
                    )
                ),
            ),
            # Only what waits has a due time, so that one partial index finds all of it.
            models.CheckConstraint(
                name="%(class)s_due_while_waiting",
                condition=Q(next_retry_at__isnull=True) | Q(status__in=("pending", "failed")),
            ),
        )

    # Written by the claim and cleared by every write that ends it.
    CLAIM_COLUMNS: ClassVar[Sequence[str]] = ("claimed_at", "claimed_by", "claim_token", "begun_at")

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.pk}"


# Rows that are still to be done: all but done ones and dead letters.
UNFINISHED = Q(status__in=("pending", "processing")) | Q(next_retry_at__isnull=False)


class LeasedQueueRow(QueueRow):
    """A row whose claim ends at an instant of its own, moved forward by a heartbeat."""

    lease_expires_at = models.DateTimeField(null=True, blank=True)

    class Meta(QueueRow.Meta):
        abstract = True
        constraints = (
            *QueueRow.Meta.constraints,
            models.CheckConstraint(
                name="%(class)s_lease_matches_status",
                condition=Q(status="processing", lease_expires_at__isnull=False)
                | (~Q(status="processing") & Q(lease_expires_at__isnull=True)),
            ),
        )

    CLAIM_COLUMNS: ClassVar[Sequence[str]] = (*QueueRow.CLAIM_COLUMNS, "lease_expires_at")


def queue_indexes(
    prefix: str,
    *,
    order: Sequence[str] = ("id",),
    leased: bool = False,
    dead_status: str | None = "failed",
    order_key: str | None = None,
) -> list[Any]:
    """
    Return the partial indexes that the claim's arms read, in claim order.

    ``prefix`` begins the indexes' names; ``order`` is the order of pending rows.
    ``dead_status`` is the status of dead letters; None if another index finds them.
    ``order_key`` is the policy's, if rows of one key wait for each other.
    """
    expiry = "lease_expires_at" if leased else "claimed_at"
    return [
        models.Index(
            *_index_terms(order),
            name=f"{prefix}_pending",
            condition=Q(status="pending", next_retry_at__isnull=True),
        ),
        models.Index(
            fields=["next_retry_at", "id"],
            name=f"{prefix}_due",
            condition=Q(next_retry_at__isnull=False),
        ),
        models.Index(
            fields=[expiry, "id"], name=f"{prefix}_claimed", condition=Q(status="processing")
        ),
        *_dead_index(prefix, dead_status),
        *_order_indexes(prefix, order_key),
    ]


def _dead_index(prefix: str, dead_status: str | None) -> list[models.Index]:
    if dead_status is None:
        return []
    condition = Q(status=dead_status, next_retry_at__isnull=True)
    return [models.Index(fields=["-id"], name=f"{prefix}_dead", condition=condition)]


def _order_indexes(prefix: str, order_key: str | None) -> list[models.Index]:
    if order_key is None:
        return []
    # Conditions that are always true, and said by the one look that each index is for: with
    # unlucky statistics the planner would read pending rows by them and sort all it finds.
    order, lowest = UNFINISHED & Q(id__gt=0), UNFINISHED & Q(attempts__gte=0)
    return [
        models.Index(fields=[order_key, "id"], name=f"{prefix}_order", condition=order),
        models.Index(fields=["id"], name=f"{prefix}_unfinished", condition=lowest),
    ]


def _index_terms(order: Sequence[str]) -> list[Any]:
    return [
        models.F(name.removeprefix("-")).desc() if name.startswith("-") else models.F(name).asc()
        for name in order
    ]
