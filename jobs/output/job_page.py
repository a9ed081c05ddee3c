"""The page of a job as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from jobs.output.tables import Column, table_lines
from jobs.output.text import one_line
from jobs.output.words import (
    cadence_cell,
    health_cell,
    last_cell,
    next_cell,
    run_status,
    took,
    when,
    yes_no,
)
from jobs.reads.alerts import AlertItem, list_alerts
from jobs.reads.audit import AuditItem
from jobs.reads.cadences import CadenceItem, Fire
from jobs.reads.inventory import JobDetail
from jobs.reads.job_actions import list_job_actions
from jobs.reads.job_history import StripRun

LABEL_WIDTH = 14
RUNS_SHOWN = 10
ACTIONS_SHOWN = 5
ALERTS_SHOWN = 5
DAYLIGHT = {
    "gap": "in the spring gap: runs once, after it",
    "overlap": "in the autumn overlap",
}
TABLE_OF_FIRES = (Column(title="next, UTC"), Column(title="in its zone"), Column(title="daylight"))
TABLE_OF_RUNS = (
    Column(title="run"),
    Column(title="trigger"),
    Column(title="status", is_state=True),
    Column(title="slot or start"),
    Column(title="took"),
    Column(title="page", optional=True),
)
TABLE_OF_ALERTS = (
    Column(title="alert"),
    Column(title="rule"),
    Column(title="state", is_state=True),
    Column(title="opened"),
    Column(title="detail", shrinks=True),
)
TABLE_OF_ACTIONS = (
    Column(title="when"),
    Column(title="who"),
    Column(title="verb"),
    Column(title="target"),
    Column(title="reason", shrinks=True),
)

Draw = Callable[[Sequence[Column], Sequence[Sequence[object]]], list[str]]


def job_lines(job: JobDetail, *, width: int | None = None) -> list[str]:
    """Return everything that is known of a job; reads its alerts and actions besides."""

    def draw(columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> list[str]:
        return ["", *table_lines(columns, rows, width=width)] if rows else []

    alerts = list_alerts(state="", subject=job.id, limit=ALERTS_SHOWN).items
    run_ids = [run.id for run in job.last_runs or ()]
    actions = list_job_actions(job.id, run_ids=run_ids, limit=ACTIONS_SHOWN)
    return [
        *labelled(_facts(job)),
        *_fires(job.next_fires, draw),
        *_runs(job, draw),
        *_alerts(alerts, draw),
        *_actions(actions, draw),
    ]


def labelled(facts: Iterable[tuple[str, object]]) -> list[str]:
    """Return a line per fact that there is, its name in front."""
    return [
        f"{label:<{LABEL_WIDTH}}{one_line(str(value))}"
        for label, value in facts
        if value not in (None, "")
    ]


def _facts(job: JobDetail) -> list[tuple[str, object]]:
    now = job.read_at
    return [
        ("job", job.id),
        ("what it does", job.summary),
        ("health", f"{health_cell(job)}: {job.health_words}"),
        ("paused", _paused(job)),
        ("cadence", cadence_cell(job.cadence)),
        ("in words", _cron_words(job.cadence)),
        ("next due", next_cell(job)),
        ("last run", last_cell(job)),
        ("last pass", "" if job.singleton else when(job.last_tick_at, now=now)),
        ("takes", _durations(job)),
        ("by hand", yes_no(job.manual_run) if job.declared else ""),
        ("declared in", job.owner_file),
        ("configured at", job.config_url),
        ("page", job.admin_url),
    ]


def _paused(job: JobDetail) -> str:
    if not job.paused:
        return ""
    reason = f": {job.pause_reason}" if job.pause_reason else ""
    return f"since {when(job.paused_at, now=job.read_at)} by {job.paused_by}{reason}"


def _cron_words(cadence: CadenceItem | None) -> str:
    return cadence.text if cadence and cadence.kind == "cron" else ""


def _durations(job: JobDetail) -> str:
    if job.p50_seconds is None or job.p95_seconds is None:
        return ""
    return f"p50 {took(job.p50_seconds)}, p95 {took(job.p95_seconds)} (30 days)"


def _fires(fires: tuple[Fire, ...], draw: Draw) -> list[str]:
    rows = [
        (f"{fire.at:%Y-%m-%d %H:%M:%S}", fire.local.replace("T", " "), _daylight(fire))
        for fire in fires
    ]
    # Most weeks have no change: a column of nothing would say less than none.
    kept = 3 if any(fire.daylight for fire in fires) else 2
    return draw(TABLE_OF_FIRES[:kept], [row[:kept] for row in rows])


def _daylight(fire: Fire) -> str:
    return DAYLIGHT.get(fire.daylight, fire.daylight) if fire.daylight else ""


def _runs(job: JobDetail, draw: Draw) -> list[str]:
    if job.last_runs is None:
        return ["", "history slow: the last runs could not be read within a second"]
    return draw(TABLE_OF_RUNS, [_run_row(run, job) for run in job.last_runs[:RUNS_SHOWN]])


def _run_row(run: StripRun, job: JobDetail) -> tuple[object, ...]:
    at = when(run.started_at or run.scheduled_for, now=job.read_at)
    status = run_status(run.status, run.count)
    return run.id, run.trigger, status, at, took(run.seconds), run.admin_url


def _alerts(alerts: Sequence[AlertItem], draw: Draw) -> list[str]:
    rows = [
        (alert.id, alert.rule, alert.state, when(alert.opened_at, now=alert.read_at), alert.detail)
        for alert in alerts
    ]
    return draw(TABLE_OF_ALERTS, rows)


def _actions(actions: Sequence[AuditItem], draw: Draw) -> list[str]:
    rows = [
        (
            when(action.at, now=action.read_at),
            action.actor,
            action.verb,
            action.target,
            action.reason,
        )
        for action in actions
    ]
    return draw(TABLE_OF_ACTIONS, rows)
