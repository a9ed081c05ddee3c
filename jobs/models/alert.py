"""What is wrong, since when, and who knows."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from jobs.clock import ClockDefault


class AlertRule(models.TextChoices):
    """What an alert can be about."""

    CONSECUTIVE_FAILURES = "consecutive_failures", "consecutive failures"
    MISSED_WINDOW = "missed_window", "missed window"
    DEAD_LETTER_DEPTH = "dead_letter_depth", "dead letter depth"
    BACKUP_OLDER_THAN_RPO = "backup_older_than_rpo", "backup older than RPO"
    STALLED = "stalled", "stalled"
    NO_WORKER = "no_worker", "no worker"


class Alert(models.Model):
    """One thing that is or was wrong. At most one is open per rule and subject."""

    id = models.BigAutoField(primary_key=True)
    rule = models.CharField(max_length=30, choices=AlertRule.choices)
    subject = models.CharField(max_length=200)  # a job id, a queue, or "-"
    detail = models.TextField(blank=True, db_default="")  # what opened it, in words
    evidence = models.JSONField(default=dict)
    opened_at = models.DateTimeField(db_default=ClockDefault(), editable=False)
    last_seen_at = models.DateTimeField(db_default=ClockDefault())
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.CharField(max_length=200, blank=True, db_default="")
    acknowledged_until = models.DateTimeField(null=True, blank=True)
    note = models.TextField(blank=True, db_default="")
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolution = models.TextField(blank=True, db_default="")
    # [{"event": "opened", "channel": "mail", "at": …, "ok": true, "detail": …}]
    notifications = models.JSONField(default=list)

    class Meta:
        db_table = "alerts"
        ordering = ("-id",)
        permissions = (("acknowledge_alert", "Can acknowledge alerts"),)
        constraints = (
            models.UniqueConstraint(
                fields=("rule", "subject"),
                name="alerts_one_open",
                condition=Q(resolved_at__isnull=True),
            ),
        )
        indexes = (
            models.Index(
                fields=("-id",), name="alerts_open", condition=Q(resolved_at__isnull=True)
            ),
            models.Index(fields=("resolved_at",), name="alerts_by_age"),
        )

    def __str__(self) -> str:
        return f"{self.rule} {self.subject}"
