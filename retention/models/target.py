"""For how long an operator keeps the rows of a target."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

LONGEST_DAYS = 3650


class TargetConfig(models.Model):
    """One row per declared target. The words about a target come from its declaration."""

    name = models.CharField("target", max_length=100, primary_key=True)
    # Null: kept for ever. 0: deleted at the next sweep.
    days = models.SmallIntegerField(null=True, blank=True)
    enabled = models.BooleanField(db_default=True)

    class Meta:
        db_table = "retention_targets"
        verbose_name = "retention target"
        ordering = ("name",)
        constraints = (
            models.CheckConstraint(
                name="retention_targets_days_range",
                condition=Q(days__isnull=True) | Q(days__range=(0, LONGEST_DAYS)),
            ),
        )

    def __str__(self) -> str:
        return self.name
