"""One step of a deletion."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from deletions.models.deletion import UserDeletion


class Half(models.TextChoices):
    """Which kind of work a step is, in the order in which they are done."""

    ACCESS = "access", "access"
    EXTERNAL = "external", "external"
    LOCAL = "local", "local"


class StepState(models.TextChoices):
    """Where a step is."""

    TODO = "todo", "to do"
    DONE = "done", "done"  # never run again
    FAILED = "failed", "failed"  # run again with the next attempt
    SKIPPED = "skipped", "skipped"  # there was nothing to do here, such as no billing service


SETTLED = (StepState.DONE, StepState.SKIPPED)


class UserDeletionStep(models.Model):
    """What is known of one step of one deletion."""

    id = models.BigAutoField(primary_key=True)
    deletion = models.ForeignKey(UserDeletion, on_delete=models.CASCADE, related_name="steps")
    name = models.CharField(max_length=100)
    half = models.CharField(max_length=8, choices=Half.choices)
    position = models.SmallIntegerField()  # within the deletion, by half
    state = models.CharField(
        max_length=8, choices=StepState.choices, db_default=StepState.TODO.value
    )
    tries = models.IntegerField(db_default=0)
    # What it did, what it waits for, or why it failed; emptied when the deletion is done.
    detail = models.TextField(blank=True, db_default="")
    # In words what is still there while it is not done.
    left_behind = models.CharField(max_length=200)
    # The same for every call of this step, and no other step ever has it.
    idempotency_key = models.CharField(max_length=200, unique=True)
    begun_at = models.DateTimeField(null=True, blank=True)  # of the try that goes on
    waiting_since = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "user_deletion_steps"
        verbose_name = "step of a user deletion"
        verbose_name_plural = "steps of user deletions"
        ordering = ("deletion_id", "position")
        constraints = (
            models.UniqueConstraint(fields=("deletion", "name"), name="user_deletion_steps_once"),
            models.CheckConstraint(
                name="userdeletionstep_settled_has_time",
                condition=Q(state__in=("done", "skipped"), done_at__isnull=False)
                | (~Q(state__in=("done", "skipped")) & Q(done_at__isnull=True)),
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} of user deletion {self.deletion_id}"

    @property
    def is_settled(self) -> bool:
        """Say whether nothing is left to do."""
        return self.state in SETTLED
