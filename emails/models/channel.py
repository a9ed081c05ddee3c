"""Where delivery stands: the way out as a whole, and single domains of recipients."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class EmailChannel(models.Model):
    """One delivery configuration, from its first failure on; shared by all workers."""

    id = models.BigAutoField(primary_key=True)
    # A digest of the whole delivery URL: another password is another channel.
    fingerprint = models.CharField(max_length=64, unique=True)
    address = models.TextField()  # the URL without its password
    failures = models.IntegerField(db_default=0)  # in a row
    paused_at = models.DateTimeField(null=True, blank=True)  # null: up
    next_try_at = models.DateTimeField(null=True, blank=True)
    probe_token = models.UUIDField(null=True, blank=True)  # of the worker that tries it
    failed_at = models.DateTimeField(null=True, blank=True)
    resumed_at = models.DateTimeField(null=True, blank=True)
    last_code = models.SmallIntegerField("last reply code", null=True, blank=True)
    last_error = models.TextField(blank=True, db_default="")

    class Meta:
        db_table = "email_channels"
        verbose_name = "mail channel"
        permissions = (("resume_emailchannel", "Can have a paused channel tried now"),)
        constraints = (
            models.CheckConstraint(
                name="emailchannel_paused_has_next_try",
                condition=Q(paused_at__isnull=True, next_try_at__isnull=True, failures=0)
                | Q(paused_at__isnull=False, next_try_at__isnull=False, failures__gt=0),
            ),
        )

    def __str__(self) -> str:
        return self.address


class EmailDomain(models.Model):
    """A domain whose servers have asked for patience; the row goes when they accept again."""

    id = models.BigAutoField(primary_key=True)
    domain = models.TextField(unique=True)  # lower case
    failures = models.IntegerField(db_default=1)  # in a row
    throttled_at = models.DateTimeField()
    next_allowed_at = models.DateTimeField()
    last_code = models.SmallIntegerField("last reply code", null=True, blank=True)
    last_error = models.TextField(blank=True, db_default="")

    class Meta:
        db_table = "email_domains"
        verbose_name = "throttled domain"

    def __str__(self) -> str:
        return self.domain
