"""The shared log stream."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from jobs.clock import ClockDefault


class LogSource(models.TextChoices):
    """Which part of the background work speaks."""

    JOB = "job", "job"
    EMAIL = "email", "email"
    WEBHOOK = "webhook", "webhook"
    EDGE = "edge", "edge"
    STORAGE = "storage", "storage"
    REALTIME = "realtime", "realtime"


class LogLevel(models.TextChoices):
    """How much a line matters."""

    DEBUG = "debug", "debug"
    INFO = "info", "info"
    WARNING = "warning", "warning"
    ERROR = "error", "error"


class ActivityLog(models.Model):
    """One line, with the run that wrote it if there is one."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=ClockDefault(), editable=False)
    source = models.CharField(max_length=16, choices=LogSource.choices)
    level = models.CharField(max_length=8, choices=LogLevel.choices)
    message = models.TextField()
    context = models.JSONField(default=dict)
    job_id = models.CharField("job", max_length=200, blank=True, db_default="")
    # No foreign key: runs are pruned on their own.
    run_id = models.BigIntegerField("run", null=True, blank=True)

    class Meta:
        db_table = "activity_log"
        verbose_name = "activity line"
        verbose_name_plural = "activity"
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("at",), name="activity_log_by_age"),
            # Lines of no run are pruned by their own age, the others with their run.
            models.Index(
                fields=("at",), name="activity_log_loose", condition=Q(run_id__isnull=True)
            ),
            models.Index(
                fields=("run_id", "id"),
                name="activity_log_by_run",
                condition=Q(run_id__isnull=False),
            ),
            models.Index(
                fields=("-id",),
                name="activity_log_trouble",
                condition=Q(level__in=("warning", "error")),
            ),
            models.Index(fields=("job_id", "-id"), name="activity_log_by_job"),
            models.Index(fields=("source", "-id"), name="activity_log_by_source"),
        )

    def __str__(self) -> str:
        return f"{self.source} {self.level} {self.message[:60]}"
