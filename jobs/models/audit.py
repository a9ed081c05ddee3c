"""Who pressed what, and why."""

from __future__ import annotations

from django.db import models

from jobs.clock import ClockDefault


class Via(models.TextChoices):
    """The surface through which an operator acted."""

    ADMIN = "admin", "admin"
    COMMAND = "command", "command"
    MCP = "mcp", "MCP"


class AuditLog(models.Model):
    """
    One action of an operator, written in the action's own transaction.

    The actor is text without a foreign key: erasing an operator does not erase the audit.
    """

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=ClockDefault(), editable=False)
    actor = models.CharField(max_length=200)
    actor_id = models.CharField(max_length=200, blank=True, db_default="")
    via = models.CharField(max_length=8, choices=Via.choices)
    verb = models.CharField(max_length=60)
    target = models.CharField(max_length=200)  # table and id, such as "email_jobs 17"
    reason = models.TextField(blank=True, db_default="")
    detail = models.JSONField(default=dict)

    class Meta:
        db_table = "audit_log"
        verbose_name = "audit entry"
        verbose_name_plural = "audit log"
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("target", "-id"), name="audit_log_by_target"),
            models.Index(fields=("at",), name="audit_log_by_age"),
        )

    def __str__(self) -> str:
        return f"{self.actor} {self.verb} {self.target}"
