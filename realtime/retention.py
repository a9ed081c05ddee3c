"""Which old events may be deleted."""

from __future__ import annotations

from django.db.models import Q

from jobs.pruning import declare_target
from realtime.models import OutboxEvent

declare_target(
    name="realtime.completed",
    label="Delivered outbox events",
    model=OutboxEvent,
    age_column="finished_at",
    rows=Q(status="completed"),
    help="By the time of their delivery. No client needs them any more.",
)
declare_target(
    name="realtime.failed",
    label="Dead-letter outbox events",
    model=OutboxEvent,
    age_column="finished_at",
    rows=Q(status="failed", next_retry_at__isnull=True),
    help="By the time at which they were given up. What is deleted cannot be retried.",
)
