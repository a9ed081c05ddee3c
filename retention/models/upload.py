"""Who may upload what until when."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from jobs.clock import ClockDefault


class UploadStatus(models.TextChoices):
    """Where an upload is. A row leaves by being deleted, from expiring only."""

    PENDING = "pending", "pending"  # may be uploaded, and finalised
    COMPLETING = "completing", "completing"  # a finaliser moves the object
    COMPLETED = "completed", "completed"  # kept, and counted to the quota
    EXPIRING = "expiring", "expiring"  # being released; nobody can finalise it any more


class UploadReservation(models.Model):
    """One upload. It refers to its owner by text, whom it may outlive."""

    id = models.BigAutoField(primary_key=True)
    owner = models.CharField(max_length=200)
    # Without key and secret; a store with this endpoint is the configured one, or another's.
    endpoint = models.TextField()
    bucket = models.CharField(max_length=255)
    staged_key = models.CharField(max_length=1024)
    key = models.CharField(max_length=1024)  # where it is kept
    filename = models.CharField(max_length=255)  # as the uploader named it, made safe
    size = models.BigIntegerField()  # bytes, as announced
    content_type = models.CharField(max_length=255, blank=True, db_default="")
    status = models.CharField(
        max_length=16, choices=UploadStatus.choices, db_default=UploadStatus.PENDING.value
    )
    created_at = models.DateTimeField(db_default=ClockDefault(), editable=False)
    expires_at = models.DateTimeField()
    # The finaliser at work, and until when it is believed to be.
    claim_token = models.UUIDField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    # Once set, the object may be at its kept key, whatever became of the finaliser.
    moving_at = models.DateTimeField(null=True, blank=True)
    completed_at = models.DateTimeField(null=True, blank=True)
    # Of a kept one: until when its address may still put another staged object.
    staged_until = models.DateTimeField(null=True, blank=True)
    tries = models.IntegerField(db_default=0)  # to release it
    last_error = models.TextField(blank=True, db_default="")

    class Meta:
        db_table = "upload_reservations"
        verbose_name = "upload reservation"
        ordering = ("-id",)
        permissions = (("release_uploadreservation", "Can release upload reservations"),)
        constraints: ClassVar[tuple[models.BaseConstraint, ...]] = (
            models.CheckConstraint(name="upload_reservations_size", condition=Q(size__gte=0)),
            models.CheckConstraint(
                name="upload_reservations_lasts", condition=Q(expires_at__gt=F("created_at"))
            ),
            models.CheckConstraint(
                name="upload_reservations_claim",
                condition=Q(
                    status="completing",
                    claim_token__isnull=False,
                    claimed_until__isnull=False,
                    moving_at__isnull=False,
                )
                | (
                    ~Q(status="completing")
                    & Q(claim_token__isnull=True, claimed_until__isnull=True)
                ),
            ),
            models.CheckConstraint(
                name="upload_reservations_kept",
                condition=~Q(status="completed")
                | Q(completed_at__isnull=False, moving_at__isnull=False),
            ),
            models.UniqueConstraint(
                fields=("endpoint", "bucket", "staged_key"), name="upload_reservations_one_place"
            ),
        )
        indexes = (
            # All that the quota asks for, so that it reads no row.
            models.Index(fields=("owner",), include=("size",), name="upload_reservations_owner"),
            models.Index(
                fields=("expires_at",),
                name="upload_reservations_due",
                condition=Q(status__in=["pending", "completing"]),
            ),
            models.Index(
                fields=("id",), name="upload_reservations_left", condition=Q(status="expiring")
            ),
            models.Index(
                fields=("staged_until",),
                name="upload_reservations_staged",
                condition=Q(staged_until__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"{self.filename} of {self.owner}"
