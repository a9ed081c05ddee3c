"""What is known of a job between its runs."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from jobs.clock import ClockDefault


class JobState(models.Model):
    """
    One row per job id. The words about a job come from its declaration, not from here.

    Of a singleton it says which slots are accounted for: next due lives here and not in
    memory, so that with a deploy every hour a daily job still runs daily.
    """

    job_id = models.CharField("job", max_length=200, primary_key=True)
    first_seen_at = models.DateTimeField(db_default=ClockDefault(), editable=False)
    last_tick_at = models.DateTimeField(null=True, blank=True)
    idle_passes = models.BigIntegerField(db_default=0)
    cadence = models.TextField(blank=True, db_default="")  # as it was when next due was set
    # What an operator has set in place of the declared cadence; empty: as declared.
    own_cron = models.CharField(max_length=200, blank=True, db_default="")
    own_zone = models.CharField(max_length=100, blank=True, db_default="")
    accounted_until = models.DateTimeField(null=True, blank=True)
    next_due_at = models.DateTimeField(null=True, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    paused_by = models.CharField(max_length=200, blank=True, db_default="")
    pause_reason = models.TextField(blank=True, db_default="")

    class Meta:
        db_table = "job_states"
        verbose_name = "job"
        constraints = (
            models.CheckConstraint(
                name="job_states_own_cadence_whole",
                condition=Q(own_cron="", own_zone="") | (~Q(own_cron="") & ~Q(own_zone="")),
            ),
        )
        indexes = (
            models.Index(
                fields=("next_due_at",),
                name="job_states_due",
                condition=Q(next_due_at__isnull=False, paused_at__isnull=True),
            ),
        )

    def __str__(self) -> str:
        return self.job_id
