"""The ledger: one row per run, per slot that did not run, and per burst of short passes."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from jobs.clock import ClockDefault


class Trigger(models.TextChoices):
    """Why a run happened."""

    SCHEDULE = "schedule", "schedule"  # its cadence was due
    NOTIFY = "notify", "notify"  # a commit woke it
    MANUAL = "manual", "manual"  # an operator asked
    CATCH_UP = "catch_up", "catch up"  # a slot missed while no worker ran
    HTTP = "http", "HTTP"  # a call of a function


class RunStatus(models.TextChoices):
    """What became of a run."""

    REQUESTED = "requested", "requested"  # waits for a worker
    RUNNING = "running", "running"
    SUCCEEDED = "succeeded", "succeeded"
    FAILED = "failed", "failed"
    SKIPPED = "skipped", "skipped"  # the run before was still going
    MISSED = "missed", "missed"  # no worker took it in time
    LOST = "lost", "lost"  # its lease ran out
    INTERRUPTED = "interrupted", "interrupted"  # a shutdown ended it
    CANCELLED = "cancelled", "cancelled"  # an operator ended it


class JobRun(models.Model):
    """One run of a job."""

    id = models.BigAutoField(primary_key=True)
    job_id = models.CharField("job", max_length=200)
    trigger = models.CharField(max_length=16, choices=Trigger.choices)
    status = models.CharField(max_length=16, choices=RunStatus.choices)
    requested_by = models.CharField(max_length=200, blank=True, db_default="")
    reason = models.TextField(blank=True, db_default="")
    scheduled_for = models.DateTimeField("slot", null=True, blank=True)
    created_at = models.DateTimeField(db_default=ClockDefault(), editable=False)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    claimed_by = models.CharField("worker", max_length=200, blank=True, db_default="")
    claim_token = models.UUIDField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    passes = models.IntegerField(db_default=1)  # short passes folded into this row
    count = models.IntegerField(db_default=1)  # slots that this row stands for
    progress_done = models.BigIntegerField(null=True, blank=True)
    progress_total = models.BigIntegerField(null=True, blank=True)
    output = models.JSONField("summary", null=True, blank=True)
    returned = models.JSONField(null=True, blank=True)
    stdout = models.TextField(blank=True, db_default="")
    error = models.TextField(blank=True, db_default="")

    class Meta:
        db_table = "job_runs"
        verbose_name = "run"
        ordering = ("-id",)
        permissions = (
            ("run_job", "Can run a job by hand"),
            ("pause_job", "Can pause and resume a job"),
            ("schedule_job", "Can change when a job runs"),
            ("cancel_job", "Can cancel a running job"),
            ("view_run_output", "Can see the output of runs"),
        )
        constraints = (
            # One run per slot over all replicas, without a leader.
            models.UniqueConstraint(
                fields=("job_id", "scheduled_for"),
                name="job_runs_one_per_slot",
                condition=Q(scheduled_for__isnull=False),
            ),
            # A second request while one waits is the first.
            models.UniqueConstraint(
                fields=("job_id",),
                name="job_runs_one_request",
                condition=Q(status="requested", trigger="manual"),
            ),
            models.CheckConstraint(
                name="job_runs_lease_while_running",
                condition=Q(status="running", lease_expires_at__isnull=False)
                | (~Q(status="running") & Q(lease_expires_at__isnull=True)),
            ),
        )
        indexes = (
            # The runs of a job, newest first.
            models.Index(fields=("job_id", "-id"), name="job_runs_by_job"),
            # Runs that somebody holds or that wait: few, read by every worker.
            models.Index(
                fields=("lease_expires_at",),
                name="job_runs_running",
                condition=Q(status="running"),
            ),
            models.Index(
                fields=("id",), name="job_runs_requested", condition=Q(status="requested")
            ),
            # The filters that an operator uses on a ledger of millions.
            models.Index(
                fields=("-id",),
                name="job_runs_unwell",
                condition=Q(status__in=("failed", "lost", "interrupted", "missed", "cancelled")),
            ),
            models.Index(fields=("-id",), name="job_runs_manual", condition=Q(trigger="manual")),
            # The newest failure of a job, which outlives its age.
            models.Index(
                fields=("job_id", "-id"),
                name="job_runs_failures",
                condition=Q(status__in=("failed", "lost", "interrupted")),
            ),
            # "Since" filters, and the pruning of old runs.
            models.Index(fields=("created_at",), name="job_runs_by_age"),
        )

    def __str__(self) -> str:
        return f"{self.job_id} run {self.pk}"
