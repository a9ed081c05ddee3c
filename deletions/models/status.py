"""Where a deletion is, of a user or of a bucket."""

from __future__ import annotations

from django.db import models


class DeletionStatus(models.TextChoices):
    """Where a deletion is."""

    PENDING = "pending", "pending"  # waits for its turn; a user's for not_before or a step, too
    PROCESSING = "processing", "processing"
    FAILED = "failed", "failed"  # retried at next_retry_at
    DONE = "done", "done"  # a user's is kept as proof, without personal data
    ABANDONED = "abandoned", "abandoned"  # only an operator starts it again
    CANCELLED = "cancelled", "cancelled"  # a user's before anything was touched


# A user, and a bucket by its endpoint and the prefix, has at most one deletion in these states.
LIVE = (
    DeletionStatus.PENDING,
    DeletionStatus.PROCESSING,
    DeletionStatus.FAILED,
    DeletionStatus.ABANDONED,
)
