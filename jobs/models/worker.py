"""The processes that work, as they last said of themselves."""

from __future__ import annotations

from django.db import models

from jobs.clock import ClockDefault


class ListenState(models.TextChoices):
    """How a process hears of new work."""

    LISTENING = "listening", "listening"  # proved by its own echo
    POLLING = "polling", "polling"  # LISTEN is off, gone, or behind a pooler
    STARTING = "starting", "starting"


class Worker(models.Model):
    """One ``runworkers`` process."""

    name = models.CharField(max_length=200, primary_key=True)  # host:pid:random
    host = models.CharField(max_length=150)
    pid = models.IntegerField()
    version = models.CharField(max_length=60, blank=True, db_default="")
    started_at = models.DateTimeField(db_default=ClockDefault(), editable=False)
    heartbeat_at = models.DateTimeField(db_default=ClockDefault())
    stopped_at = models.DateTimeField(null=True, blank=True)
    draining = models.BooleanField(db_default=False)
    listen = models.CharField(
        max_length=16, choices=ListenState.choices, db_default=ListenState.STARTING.value
    )
    # Replicas with different windows would steal from each other.
    claim_stale_ms = models.IntegerField()
    claims_held = models.IntegerField(db_default=0)
    loops = models.JSONField(default=dict)  # job id: {"ticked_at": ISO 8601, "state": text}

    class Meta:
        db_table = "workers"
        ordering = ("-started_at",)

    def __str__(self) -> str:
        return self.name
