"""Ids that the code or the database knows."""

from __future__ import annotations

import difflib

from jobs.declarations import registry
from jobs.errors import UnknownJobError
from jobs.models import JobRun, JobState


def refuse_unknown_job(job_id: str) -> None:
    """
    Raise ``UnknownJobError``, which names the nearest id, for a job that neither the code nor
    the database knows. One that nobody declares any more still has a history to look at.
    """
    if registry.find(job_id) is not None:
        return
    if JobState.objects.filter(pk=job_id).exists() or JobRun.objects.filter(job_id=job_id).exists():
        return
    known = sorted({*(job.id for job in registry), *JobState.objects.values_list("pk", flat=True)})
    nearest = difflib.get_close_matches(job_id, known, n=1)
    raise UnknownJobError(job_id, known, nearest[0] if nearest else None)
