"""Which old rows of the engine's own tables may be deleted."""

from __future__ import annotations

from typing import Any

from django.db.models import BooleanField, Func, Q, Value

from jobs.alerts.statements import fetch
from jobs.models import ActivityLog, Alert, JobRun
from jobs.models.run import RunStatus
from jobs.pruning import Along, declare_target

KEPT_RUNS = 50
# A run that waits or goes on is no past, however old it is.
OPEN = (RunStatus.REQUESTED, RunStatus.RUNNING)


class IsSuperseded(Func):
    """Whether a run is neither among the newest of its job nor its job's newest failure."""

    # Three columns: the jobs, the oldest of the newest runs of each, the newest failure of each.
    template = (
        "EXISTS (SELECT FROM unnest(%(expressions)s) AS kept (job_id, oldest, failure)"
        " WHERE kept.job_id = job_runs.job_id AND job_runs.id < kept.oldest"
        " AND job_runs.id IS DISTINCT FROM kept.failure)"
    )
    output_field = BooleanField()


class Column(Func):
    """Values of one type as an array."""

    template = "%(expressions)s::%(type)s[]"


def superseded_runs() -> Q:
    """
    Return the runs that have ended and that newer ones of their job stand for.

    What is kept is looked up once for a whole sweep: a run that is added meanwhile only
    supersedes more of them.
    """
    jobs = fetch("kept_runs", {"others": KEPT_RUNS - 1})
    types = {"job_id": "text", "oldest": "bigint", "failure": "bigint"}
    columns = [_column([job[name] for job in jobs], type_name) for name, type_name in types.items()]
    return ~Q(status__in=OPEN) & Q(IsSuperseded(*columns))


def _column(values: list[Any], type_name: str) -> Column:
    return Column(Value(values), type=type_name)


declare_target(
    name="jobs.runs",
    label="Runs and their log lines",
    model=JobRun,
    age_column="created_at",
    rows=superseded_runs,
    along=(Along(model=ActivityLog, column="run_id"),),
    help=f"The newest {KEPT_RUNS} runs of each job and its newest failure stay, however old.",
)
declare_target(
    name="jobs.activity",
    label="Activity log",
    model=ActivityLog,
    age_column="at",
    rows=Q(run_id__isnull=True),
    help="Lines of a run stay as long as the run.",
)
declare_target(
    name="jobs.alerts",
    label="Resolved alerts",
    model=Alert,
    age_column="resolved_at",
    rows=Q(resolved_at__isnull=False),
)
