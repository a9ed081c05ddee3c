"""What is known of a job between its runs."""

from __future__ import annotations

from django.db import models

from jobs.clock import ClockDefault


class JobState(models.Model):
    """One row per job id. The words about a job come from its declaration, not from here."""

    job_id = models.CharField("job", max_length=200, primary_key=True)
    first_seen_at = models.DateTimeField(db_default=ClockDefault(), editable=False)
    last_tick_at = models.DateTimeField(null=True, blank=True)
    idle_passes = models.BigIntegerField(db_default=0)

    class Meta:
        db_table = "job_states"
        verbose_name = "job"

    def __str__(self) -> str:
        return self.job_id
