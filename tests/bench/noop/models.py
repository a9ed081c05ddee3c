"""A queue of rows that are nothing to do."""

from __future__ import annotations

from django.db import models

from jobs.queues import QueueRow, queue_indexes


class Noop(QueueRow):
    id = models.BigAutoField(primary_key=True)
    payload = models.TextField()

    class Meta:
        db_table = "bench_noop"
        constraints = QueueRow.Meta.constraints
        indexes = queue_indexes("bench_noop")
