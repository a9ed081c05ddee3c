"""The calls of the billing service."""

from __future__ import annotations

from django.db import models

from jobs.clock import ClockDefault


class BillingOutcome(models.TextChoices):
    """What came of a call."""

    UNKNOWN = "unknown", "unknown"  # sent, and its answer was never seen
    CANCELLED = "cancelled", "cancelled"
    GONE = "gone", "already gone"
    FAILED = "failed", "failed"


class BillingAudit(models.Model):
    """One request to the billing service, written before it is sent."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=ClockDefault(), editable=False)
    # Without a foreign key: proof rows may be pruned before, or after.
    deletion_id = models.BigIntegerField("deletion")
    url = models.CharField(max_length=500)
    idempotency_key = models.CharField(max_length=200)
    status_code = models.SmallIntegerField(null=True, blank=True)
    outcome = models.CharField(
        max_length=16,
        choices=BillingOutcome.choices,
        db_default=BillingOutcome.UNKNOWN.value,
    )
    # Of a failure only; emptied when the deletion is done.
    answer = models.TextField(blank=True, db_default="")
    milliseconds = models.IntegerField(null=True, blank=True)

    class Meta:
        db_table = "billing_audit"
        verbose_name = "billing call"
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("deletion_id", "-id"), name="billing_audit_by_deletion"),
            models.Index(fields=("at",), name="billing_audit_by_age"),
        )

    def __str__(self) -> str:
        return f"billing call {self.pk} of user deletion {self.deletion_id}"
