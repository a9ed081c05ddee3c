"""One bucket to be emptied and removed."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from deletions.models.status import LIVE, DeletionStatus
from jobs.queues import LeasedQueueRow, queue_indexes


class BucketPhase(models.TextChoices):
    """What is being done, in this order."""

    OBJECTS = "objects", "objects"  # counted, then deleted
    VERSIONS = "versions", "versions"  # and marks of deletion, where the bucket keeps them
    UPLOADS = "uploads", "uploads"  # begun and never completed
    VERIFY = "verify", "verify"  # what came meanwhile leads back to the objects
    BUCKET = "bucket", "bucket"  # the bucket itself; not with a prefix


class BucketDeletionJob(LeasedQueueRow):
    """The deletion of a bucket, which it outlives: named, without any foreign key."""

    id = models.BigAutoField(primary_key=True)
    status = models.CharField(
        max_length=16, choices=DeletionStatus.choices, db_default=DeletionStatus.PENDING.value
    )
    bucket_name = models.CharField("bucket", max_length=255)
    endpoint = models.CharField(max_length=500)  # without secrets
    prefix = models.CharField(max_length=1024, blank=True, db_default="")
    phase = models.CharField(
        max_length=8, choices=BucketPhase.choices, db_default=BucketPhase.OBJECTS.value
    )
    # Counted by one listing before the first deletion, raised when more is found.
    total_objects = models.BigIntegerField(null=True, blank=True)
    deleted_objects = models.BigIntegerField(db_default=0)
    # Looked at by the listing that goes on or was the last, so that it is seen to move.
    listed_objects = models.BigIntegerField(db_default=0)
    # Of this claim: when it began to delete, with how many deleted then, and its last progress.
    emptying_since = models.DateTimeField(null=True, blank=True)
    deleted_before = models.BigIntegerField(db_default=0)
    progressed_at = models.DateTimeField(null=True, blank=True)
    next_retry_at = models.DateTimeField(null=True, blank=True, db_column="next_attempt_at")
    # What the last claim could not delete: the first ones with their codes, and how many.
    failed_keys = models.JSONField(default=list)
    failed_objects = models.BigIntegerField(db_default=0)
    requested_by = models.CharField(max_length=200, blank=True, db_default="")
    user_deletion_id = models.BigIntegerField(null=True, blank=True)  # on whose behalf
    requeues = models.SmallIntegerField(db_default=0)
    abandoned_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "bucket_deletion_jobs"
        verbose_name = "bucket deletion"
        ordering = ("-id",)
        permissions = (
            ("requeue_bucketdeletionjob", "Can requeue bucket deletions"),
            ("cancel_bucketdeletionjob", "Can cancel bucket deletions"),
        )
        constraints = (
            *LeasedQueueRow.Meta.constraints,
            models.UniqueConstraint(
                fields=("endpoint", "bucket_name", "prefix"),
                name="bucket_deletion_jobs_one_live",
                condition=Q(status__in=[str(status) for status in LIVE]),
            ),
            models.CheckConstraint(
                name="bucketdeletionjob_deleted_within_total",
                condition=Q(total_objects__isnull=True, deleted_objects=0)
                | Q(total_objects__gte=F("deleted_objects")),
            ),
            models.CheckConstraint(
                name="bucketdeletionjob_abandoned_has_time",
                condition=Q(status="abandoned", abandoned_at__isnull=False)
                | (~Q(status="abandoned") & Q(abandoned_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="bucketdeletionjob_done_is_whole",
                condition=~Q(status="done")
                | Q(done_at__isnull=False, total_objects=F("deleted_objects"), failed_objects=0),
            ),
        )
        indexes = (
            *queue_indexes("bucket_deletion_jobs", leased=True, dead_status="abandoned"),
            models.Index(fields=("bucket_name", "-id"), name="bucket_deletion_jobs_by_name"),
            models.Index(
                fields=("user_deletion_id", "-id"),
                name="bucket_deletion_jobs_by_user",
                condition=Q(user_deletion_id__isnull=False),
            ),
            models.Index(
                fields=("done_at",),
                name="bucket_deletion_jobs_by_age",
                condition=Q(status="done"),
            ),
            models.Index(
                fields=("-id",),
                name="bucket_deletion_jobs_ended",
                condition=Q(status="cancelled"),
            ),
        )
