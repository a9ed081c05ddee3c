"""Addresses that get nothing, or no list mail."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from jobs.clock import ClockDefault


class SuppressionReason(models.TextChoices):
    """Why an address is suppressed."""

    HARD_BOUNCE = "hard_bounce", "hard bounce"
    COMPLAINT = "complaint", "complaint"  # reported as spam
    UNSUBSCRIBE = "unsubscribe", "unsubscribe"
    ERASURE = "erasure", "erasure"
    MANUAL = "manual", "manual"  # by an operator


class SuppressionScope(models.TextChoices):
    """What is not sent."""

    EVERYTHING = "everything", "everything"
    LISTS = "lists", "list mail"  # of one list, or of all


class EmailSuppression(models.Model):
    """One reason for which an address gets nothing, or no list mail."""

    id = models.BigAutoField(primary_key=True)
    address = models.CharField(max_length=320)  # lower case, its domain in ASCII
    reason = models.CharField(max_length=16, choices=SuppressionReason.choices)
    scope = models.CharField(max_length=16, choices=SuppressionScope.choices)
    list_name = models.CharField("list", max_length=100, blank=True, db_default="")
    until = models.DateTimeField(null=True, blank=True)  # null: for ever
    detail = models.TextField(blank=True, db_default="")
    created_at = models.DateTimeField(db_default=ClockDefault(), editable=False)

    class Meta:
        db_table = "email_suppressions"
        verbose_name = "suppressed address"
        verbose_name_plural = "suppressed addresses"
        ordering = ("-id",)
        permissions = (
            ("suppress_emailsuppression", "Can suppress addresses"),
            ("unsuppress_emailsuppression", "Can take addresses off the suppression list"),
        )
        constraints = (
            models.UniqueConstraint(
                fields=("address", "reason", "list_name"), name="email_suppressions_once"
            ),
            models.CheckConstraint(
                name="emailsuppression_list_has_scope",
                condition=Q(list_name="") | Q(scope="lists"),
            ),
        )

    def __str__(self) -> str:
        return self.address
