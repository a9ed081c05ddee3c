"""Values as cells and lines have them. Pure functions."""

from __future__ import annotations

import datetime as dt

from jobs.reads.cadences import CadenceItem
from jobs.reads.inventory import JobItem
from jobs.reads.job_history import StripRun
from jobs.reads.runs import RunItem
from jobs.reads.words import duration_words, time_words

YES, NO = "yes", "no"


def when(at: dt.datetime | None, *, now: dt.datetime) -> str:
    """Return ``02:00:04 UTC · 3 min ago``, or nothing."""
    return "" if at is None else time_words(at, now=now)


def took(seconds: float | None) -> str:
    """Return how long something took, or nothing."""
    return "" if seconds is None else duration_words(seconds)


def yes_no(value: object) -> str:
    """Return yes or no."""
    return YES if value else NO


def health_cell(job: JobItem) -> str:
    """Return a job's health; with how often it failed in a row."""
    failures = job.consecutive_failures or 0
    return f"{job.health} x{failures}" if failures > 1 else job.health


def cadence_cell(cadence: CadenceItem | None) -> str:
    """Return a cadence as it is written, with its zone and its source."""
    if cadence is None:
        return ""
    if cadence.kind == "manual":
        return cadence.text
    if cadence.kind == "cron":
        return f"{cadence.expression} {cadence.timezone} {cadence.source}"
    return f"{cadence.text} {cadence.source}"


def last_cell(job: JobItem) -> str:
    """Return a job's last run; of a queue worker without one, its last pass."""
    if job.history_slow:
        return "history slow"
    if job.last_run is not None:
        return strip_words(job.last_run, now=job.read_at)
    return f"idle {when(job.last_tick_at, now=job.read_at)}" if job.last_tick_at else ""


def next_cell(job: JobItem) -> str:
    """Return when a job is next due."""
    return "paused" if job.paused else when(job.next_due, now=job.read_at)


def strip_words(run: StripRun, *, now: dt.datetime) -> str:
    """Return a run of a job's strip in words."""
    mark = " by hand" if run.is_manual else ""
    at = run.started_at or run.scheduled_for
    return " ".join(part for part in (f"{run.status}{mark}", when(at, now=now)) if part)


def run_status(status: str, count: int) -> str:
    """Return a status, with how many slots it stands for where it is more than one."""
    return f"{status} x{count}" if count > 1 else status


def progress_words(run: RunItem) -> str:
    """Return how far a run is, such as ``3 of 10``, or nothing."""
    if run.progress_done is None:
        return ""
    if run.progress_total is None:
        return f"{run.progress_done:,}"
    return f"{run.progress_done:,} of {run.progress_total:,}"


def outcome_words(run: RunItem) -> str:
    """Return what became of a run: ``run 7 of shop.orders failed in 0.4 s: ValueError: …``."""
    line = f"run {run.id} of {run.job_id} {run.status}"
    if run.seconds is not None:
        line += f" in {duration_words(run.seconds)}"
    return f"{line}: {run.error_head}" if run.error_head else line
