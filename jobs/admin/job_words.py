"""How the pages of jobs word what the inventory says."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobs.markup import NOTHING, State, run_state_of, state_mark, time_tag
from jobs.reads.cadences import CadenceItem
from jobs.reads.inventory import JobItem
from jobs.reads.job_health import Health
from jobs.reads.job_history import StripRun

HISTORY_SLOW = "history slow"
HEALTH_STATES: Mapping[str, State] = {
    Health.OK: State(shape="●", tone="good", word="ok"),
    Health.LATE: State(shape="▲", tone="warn", word="late"),
    Health.FAILING: State(shape="■", tone="bad", word="failing"),
    Health.NEVER_RAN: State(shape="○", tone="quiet", word="never ran"),
    Health.PAUSED: State(shape="—", tone="quiet", word="paused"),
    Health.NOT_DECLARED: State(shape="—", tone="quiet", word="not declared"),
}
DAYLIGHT_WORDS = {
    "gap": "in the spring gap: runs once, right after it",
    "overlap": "in the autumn overlap: runs at the first of the two",
}


def health_state(job: JobItem) -> State:
    """Return a job's health as a shape and a word; several failures with their number."""
    failures = job.consecutive_failures or 0
    if job.health == Health.FAILING and failures:
        return State(shape="■", tone="bad", word=f"{failures} failed")
    return HEALTH_STATES[job.health]


def last_run_cell(job: JobItem) -> SafeString | str:
    """Draw a job's last run; of a queue worker that had nothing to do, its last pass."""
    if job.history_slow:
        return HISTORY_SLOW
    if job.last_run is not None:
        return run_line(job.last_run, now=job.read_at)
    if job.last_tick_at is not None:
        idle = '<span class="console-quiet">idle pass</span><br>{}'
        return format_html(idle, time_tag(job.last_tick_at, now=job.read_at))
    return "never"


def run_line(run: StripRun, *, now: dt.datetime) -> SafeString:
    """Draw what became of a run and when."""
    mark = state_mark(run_state_of(run.status))
    by_hand = " by hand" if run.is_manual else ""
    at = time_tag(run.started_at or run.scheduled_for, now=now)
    return format_html("{}{}<br>{}", mark, by_hand, at)


def next_cell(job: JobItem) -> SafeString | str:
    """Draw when a job is next due."""
    if job.paused:
        return "paused"
    return time_tag(job.next_due, now=job.read_at) if job.next_due else NOTHING


def cadence_cell(cadence: CadenceItem | None) -> SafeString | str:
    """Draw a cadence as it is written, with its zone, and where it comes from."""
    if cadence is None:
        return NOTHING
    source = f"in {cadence.source}"
    if cadence.kind == "cron":
        words = '<code>{}</code><span class="console-kind console-quiet">{} · {}</span>'
        return format_html(words, cadence.expression, cadence.timezone, source)
    return format_html('{}<span class="console-kind console-quiet">{}</span>', cadence.text, source)


def by_hand_cell(job: JobItem) -> str:
    """Say whether an operator may force a run."""
    if not job.declared:
        return NOTHING
    return "yes" if job.manual_run else "no"
