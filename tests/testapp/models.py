"""Queues of a user's own: one by a stale window, one leased, one that counts in the catch."""

from __future__ import annotations

from django.db import models

from jobs.queues import LeasedQueueRow, QueueRow, queue_indexes


class Parcel(QueueRow):
    id = models.BigAutoField(primary_key=True)
    address = models.TextField()
    # What the handler is to do with it: "deliver", "fail", "wait", "give up", "kill",
    # "sleep SECONDS".
    instruction = models.TextField(default="deliver")
    delivered_by = models.TextField(blank=True, default="")

    class Meta:
        db_table = "testapp_parcels"
        constraints = QueueRow.Meta.constraints
        indexes = queue_indexes("testapp_parcels")


class Crate(LeasedQueueRow):
    id = models.BigAutoField(primary_key=True)
    instruction = models.TextField(default="deliver")

    class Meta:
        db_table = "testapp_crates"
        constraints = LeasedQueueRow.Meta.constraints
        indexes = queue_indexes("testapp_crates", leased=True)


class Letter(QueueRow):
    """Counted in the catch, like mail."""

    id = models.BigAutoField(primary_key=True)
    instruction = models.TextField(default="deliver")
    weight = models.SmallIntegerField(default=0)

    class Meta:
        db_table = "testapp_letters"
        constraints = QueueRow.Meta.constraints
        indexes = queue_indexes("testapp_letters", order=("-weight", "id"))


class Delivery(models.Model):
    """One line per handling, written outside the queue: what really happened."""

    id = models.BigAutoField(primary_key=True)
    queue = models.TextField()
    row_id = models.BigIntegerField()
    worker = models.TextField()
