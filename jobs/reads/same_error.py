"""Other runs that failed as one did."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from django.db.models import F
from django.db.models.functions import Left

from jobs.alerts.statements import fetch
from jobs.models import JobRun
from jobs.reads.runs import HEAD_LENGTH


@dataclass(frozen=True, kw_only=True)
class SameError:
    """The runs of a job whose errors begin alike, of the newest 2,000 that did not succeed."""

    run_ids: tuple[int, ...]  # newest first
    first_at: dt.datetime | None


def runs_with_error(job_id: str, head: str) -> SameError:
    """Return the runs of a job whose error has this first line."""
    if not head:
        return SameError(run_ids=(), first_at=None)
    rows = fetch("same_error", {"job_id": job_id, "head": head, "length": HEAD_LENGTH})
    return SameError(
        run_ids=tuple(row["id"] for row in rows),
        first_at=rows[-1]["created_at"] if rows else None,
    )


def runs_failed_like(run_id: int) -> SameError:
    """Return the runs that failed as a run did; none when there is no such run."""
    start = Left(F("error"), HEAD_LENGTH)
    rows = JobRun.objects.filter(pk=run_id).annotate(error_start=start)
    found = rows.values_list("job_id", "error_start").first()
    if found is None:
        return SameError(run_ids=(), first_at=None)
    job_id, error_start = found
    return runs_with_error(job_id, error_start.partition("\n")[0])
