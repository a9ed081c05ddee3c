"""What the audit calls the things that verbs act on: a table and a key."""

from __future__ import annotations

from django.db.models import Model

from jobs.failure import storable
from jobs.models import JobRun, JobState
from jobs.redaction import mask_secrets

LONGEST = 200


def row_target(model: type[Model], key: object) -> str:
    """Return the audit's name of a row."""
    return f"{model._meta.db_table} {key}"[:LONGEST]


def job_target(job_id: str) -> str:
    """Return the audit's name of a job: runs by hand, pauses and resumptions are found by it."""
    return row_target(JobState, job_id)


def run_target(run_id: int) -> str:
    """Return the audit's name of a run."""
    return row_target(JobRun, run_id)


def kept_reason(text: str) -> str:
    """Return a reason as every table keeps it: storable, and with secrets masked."""
    return storable(mask_secrets(text))
