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


class Note(models.Model):
    """Published to its owner and to those with whom it is shared."""

    id = models.BigAutoField(primary_key=True)
    owner = models.TextField()
    title = models.TextField()
    body = models.TextField(default="")  # never goes out


class Share(models.Model):
    id = models.BigAutoField(primary_key=True)
    note = models.ForeignKey(Note, on_delete=models.CASCADE, related_name="shares")
    user = models.TextField()


class Comment(models.Model):
    """Published to those who may read its note."""

    id = models.BigAutoField(primary_key=True)
    note = models.ForeignKey(Note, on_delete=models.CASCADE, related_name="comments")
    text = models.TextField()


class Notice(models.Model):
    """Published to everyone."""

    id = models.BigAutoField(primary_key=True)
    text = models.TextField()
    seen = models.IntegerField(default=0)


class LoudNotice(Notice):
    class Meta:
        proxy = True


class Poster(Notice):
    """A notice with a table of its own besides."""

    size = models.IntegerField(default=1)


class Draft(models.Model):
    """Published to nobody."""

    id = models.BigAutoField(primary_key=True)
    text = models.TextField()
