"""Who is connected."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from jobs.clock import ClockDefault


class RealtimeSession(models.Model):
    """One socket, while the process that holds it renews its expiry."""

    sid = models.CharField("socket", max_length=64, primary_key=True)
    user_key = models.CharField("user", max_length=200)
    topics = ArrayField(models.CharField(max_length=200), db_default=[], default=list)
    process_id = models.CharField("process", max_length=200)
    connected_at = models.DateTimeField(db_default=ClockDefault(), editable=False)
    # Of its newest topic: what was captured before may not know of this socket.
    subscribed_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField()

    class Meta:
        db_table = "realtime_sessions"
        verbose_name = "realtime session"
        ordering = ("-connected_at",)
        indexes = (
            GinIndex(fields=("topics",), name="realtime_sessions_by_topic"),
            models.Index(fields=("user_key",), name="realtime_sessions_by_user"),
            models.Index(fields=("process_id",), name="realtime_sessions_by_process"),
            models.Index(fields=("expires_at",), name="realtime_sessions_by_expiry"),
            models.Index(fields=("-connected_at",), name="realtime_sessions_newest"),
        )

    def __str__(self) -> str:
        return f"realtime session {self.sid}"
