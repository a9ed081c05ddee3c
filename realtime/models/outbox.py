"""One change on its way to those who may see it."""

from __future__ import annotations

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import Q

from jobs.queues import LeasedQueueRow, queue_indexes


class OutboxStatus(models.TextChoices):
    """Where an event is."""

    PENDING = "pending", "pending"  # waits for its turn
    PROCESSING = "processing", "processing"
    COMPLETED = "completed", "completed"  # on the bus, or there was nobody to tell
    FAILED = "failed", "failed"  # retried at next_retry_at; without one, a dead letter


class OutboxEvent(LeasedQueueRow):
    """Written in the transaction that makes the change; gone with it at a rollback."""

    id = models.BigAutoField(primary_key=True)
    status = models.CharField(
        max_length=16, choices=OutboxStatus.choices, db_default=OutboxStatus.PENDING.value
    )
    topic = models.CharField(max_length=200)
    event = models.CharField(max_length=100)  # insert, update, delete, or a project's own
    payload = models.JSONField(encoder=DjangoJSONEncoder)
    audience = models.JSONField()
    # Events of one key are delivered in the order of their ids; without one, in any order.
    ordering_key = models.CharField(max_length=300, null=True, blank=True)  # noqa: DJ001 (NULL waits for nobody)
    finished_at = models.DateTimeField(null=True, blank=True)  # completed, or given up

    class Meta:
        db_table = "realtime_outbox"
        verbose_name = "outbox event"
        ordering = ("-id",)
        permissions = (
            ("retry_outboxevent", "Can retry outbox events"),
            ("view_outboxpayload", "Can see the payloads of outbox events"),
        )
        constraints = (
            *LeasedQueueRow.Meta.constraints,
            models.CheckConstraint(
                name="outboxevent_completed_has_time",
                condition=~Q(status="completed") | Q(finished_at__isnull=False),
            ),
        )
        indexes = (
            *queue_indexes(
                "realtime_outbox",
                order=("created_at", "id"),
                leased=True,
                order_key="ordering_key",
            ),
            models.Index(
                fields=("finished_at",),
                name="realtime_outbox_completed",
                condition=Q(status="completed"),
            ),
            models.Index(
                fields=("finished_at",),
                name="realtime_outbox_given_up",
                condition=Q(status="failed", next_retry_at__isnull=True),
            ),
        )
