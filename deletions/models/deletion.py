"""One user to be deleted."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from deletions.models.status import LIVE, DeletionStatus
from jobs.queues import QueueRow, queue_indexes


class UserDeletion(QueueRow):
    """The deletion of a user, whom it outlives: the key is text, without a foreign key."""

    # The step in work, so that it is seen which one takes long or kills its worker.
    CLAIM_COLUMNS: ClassVar[tuple[str, ...]] = (*QueueRow.CLAIM_COLUMNS, "current_step")

    id = models.BigAutoField(primary_key=True)
    status = models.CharField(
        max_length=16, choices=DeletionStatus.choices, db_default=DeletionStatus.PENDING.value
    )
    user_id = models.CharField("user", max_length=200)
    # What the external half needs to know of the user; emptied when the deletion is done.
    snapshot = models.JSONField(default=dict)
    requested_by = models.CharField(max_length=200)
    reason = models.TextField(blank=True, db_default="")
    not_before = models.DateTimeField(null=True, blank=True)
    requeues = models.SmallIntegerField(db_default=0)
    current_step = models.CharField(max_length=100, null=True, blank=True)  # noqa: DJ001 (of the claim)
    # Rows that referred to the user and the user's own; the total is found in small looks.
    rows_deleted = models.BigIntegerField(db_default=0)
    rows_total = models.BigIntegerField(null=True, blank=True)
    abandoned_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "user_deletions"
        verbose_name = "user deletion"
        ordering = ("-id",)
        permissions = (
            ("requeue_userdeletion", "Can requeue abandoned deletions"),
            ("cancel_userdeletion", "Can cancel deletions that have not begun"),
        )
        constraints = (
            *QueueRow.Meta.constraints,
            models.UniqueConstraint(
                fields=("user_id",),
                name="user_deletions_one_live",
                condition=Q(status__in=[str(status) for status in LIVE]),
            ),
            models.CheckConstraint(
                name="userdeletion_abandoned_has_time",
                condition=Q(status="abandoned", abandoned_at__isnull=False)
                | (~Q(status="abandoned") & Q(abandoned_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="userdeletion_done_is_empty",
                condition=~Q(status="done")
                | Q(done_at__isnull=False, snapshot={}, reason="", last_error=""),
            ),
        )
        indexes = (
            *queue_indexes("user_deletions", dead_status="abandoned"),
            models.Index(fields=("user_id", "-id"), name="user_deletions_by_user"),
            models.Index(
                fields=("done_at",), name="user_deletions_by_age", condition=Q(status="done")
            ),
            models.Index(
                fields=("-id",), name="user_deletions_cancelled", condition=Q(status="cancelled")
            ),
        )
