"""Who pressed what on a job: on the job itself, and on its runs."""

from __future__ import annotations

from collections.abc import Iterable

from jobs.reads.audit import AuditItem, audit_item, audit_rows
from jobs.verbs.targets import job_target, run_target

ACTIONS_SHOWN = 20


def list_job_actions(
    job_id: str, *, run_ids: Iterable[int] = (), limit: int = ACTIONS_SHOWN
) -> tuple[AuditItem, ...]:
    """Return the last actions on a job and on those of its runs, newest first."""
    targets = [job_target(job_id), *(run_target(run_id) for run_id in run_ids)]
    rows = audit_rows().filter(target__in=targets).order_by("-pk")[:limit]
    return tuple(audit_item(row) for row in rows)
