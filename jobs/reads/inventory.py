"""
The inventory: the declarations of all jobs, joined to the ledger at the time of reading.

A job that never ran is in it, and so is one that nobody declares any more. It renders from
declarations and state rows even when history is slow: history has a time limit of its own,
and what needs longer costs a cell and not the page.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.urls import NoReverseMatch, reverse

from jobs.alerts.facts import JobFacts, WorkerFacts
from jobs.alerts.rules import alive_since
from jobs.alerts.snapshot import WORKERS_READ, job_facts
from jobs.alerts.windows import next_window
from jobs.clock import Now
from jobs.declarations import JobDeclaration, registry
from jobs.errors import EngineroomError
from jobs.models import JobState, Worker
from jobs.reads.cadences import CadenceItem, Fire, cadence_item, next_fires
from jobs.reads.job_health import JobHealth, job_health, not_declared
from jobs.reads.job_history import (
    HISTORY_LIMIT_MS,
    NOT_RUN,
    STRIP_RUNS,
    History,
    StripRun,
    read_history,
    read_job_history,
)
from jobs.reads.links import admin_url
from jobs.reads.workers import ALIVE_WITHIN
from jobs.schedule import database_now


@dataclass(frozen=True, kw_only=True)
class JobItem:
    """One job. What comes from history is None when history was too slow."""

    id: str
    summary: str
    owner_file: str
    config_url: str
    manual_run: bool
    singleton: bool
    cadence: CadenceItem | None  # None: not declared
    log_source: str
    declared: bool
    health: str
    health_words: str
    consecutive_failures: int | None
    last_run: StripRun | None
    last_tick_at: dt.datetime | None
    idle_passes: int
    next_due: dt.datetime | None
    next_fires: tuple[Fire, ...]
    paused: bool
    paused_at: dt.datetime | None
    paused_by: str
    pause_reason: str
    first_seen_at: dt.datetime | None
    last_runs: tuple[StripRun, ...] | None  # newest first
    history_slow: bool
    read_at: dt.datetime  # the database's time of this answer
    admin_url: str


@dataclass(frozen=True, kw_only=True)
class JobDetail(JobItem):
    """One job with how long its runs take: the newest 1,000 of 30 days."""

    p50_seconds: float | None
    p95_seconds: float | None
    longest_seconds: float | None


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """All jobs, by id."""

    items: tuple[JobItem, ...]
    history_slow: bool
    worker_alive: bool
    next_before_id: None = None  # there is only one page


def list_jobs(*, limit_ms: int = HISTORY_LIMIT_MS) -> Inventory:
    """Return every declared job and every job that only the database knows."""
    states = {state.job_id: state for state in _state_rows()}
    moment = _moment(states.values())
    ids = sorted({*states, *(job.id for job in registry)})
    history = read_history(ids, limit_ms=limit_ms)
    return Inventory(
        items=tuple(JobItem(**_item(job_id, states, history, moment)) for job_id in ids),
        history_slow=history.is_slow,
        worker_alive=moment.worker_alive,
    )


def get_job(
    job_id: str, *, runs: int = STRIP_RUNS, limit_ms: int = HISTORY_LIMIT_MS
) -> JobDetail | None:
    """
    Return one job with its last runs; None when neither code nor database knows the id.
    """
    states = {state.job_id: state for state in _state_rows().filter(pk=job_id)}
    if not states and registry.find(job_id) is None:
        return None
    moment = _moment(states.values())
    history = read_job_history(job_id, now=moment.now, runs=runs, limit_ms=limit_ms)
    return JobDetail(**_item(job_id, states, history, moment), **history.durations)


@dataclass(frozen=True, kw_only=True)
class _Moment:
    now: dt.datetime  # by the database's clock
    alive_since: dt.datetime | None  # since when there have been workers without a gap
    worker_alive: bool


def _state_rows() -> QuerySet[JobState]:
    return JobState.objects.annotate(read_at=Now())


def _moment(states: Iterable[Any]) -> _Moment:
    # The clock comes with the rows; only a database without any is asked for it alone.
    first = next(iter(states), None)
    now = database_now() if first is None else first.read_at
    workers = _workers()
    return _Moment(
        now=now,
        alive_since=alive_since(workers, now=now),
        worker_alive=any(
            not worker.is_stopped and now - worker.heartbeat_at < ALIVE_WITHIN for worker in workers
        ),
    )


def _item(
    job_id: str, states: Mapping[str, JobState], history: History, moment: _Moment
) -> dict[str, Any]:
    job, state = registry.find(job_id), states.get(job_id)
    now, alive_since = moment.now, moment.alive_since
    facts = job_facts(job, state, history.scheduled) if job else None
    health = (
        job_health(facts, now=now, alive_since=alive_since, history_known=not history.is_slow)
        if facts
        else not_declared()
    )
    return {
        "id": job_id,
        **_declared_fields(job, facts, now=now, alive_since=alive_since),
        **_state_fields(state),
        **_history_fields(job_id, history, health),
        "health": health.health.value,
        "health_words": health.words,
        "read_at": now,
        "admin_url": admin_url(JobState, job_id),
    }


def _declared_fields(
    job: JobDeclaration | None,
    facts: JobFacts | None,
    *,
    now: dt.datetime,
    alive_since: dt.datetime | None,
) -> dict[str, Any]:
    if job is None or facts is None:
        return {
            "summary": "", "owner_file": "", "config_url": "", "manual_run": False,
            "singleton": False, "cadence": None, "log_source": "", "declared": False,
            "next_due": None, "next_fires": (),
        }  # fmt: skip
    return {
        "summary": job.summary,
        "owner_file": job.owner_file,
        "config_url": config_url(job),
        "manual_run": job.manual_run,
        "singleton": job.singleton,
        "cadence": cadence_item(job, facts),
        "log_source": str(job.log_source),
        "declared": True,
        "next_due": None if facts.is_paused else _next_due(facts, alive_since=alive_since),
        # A queue worker polls and is woken: its instants are not those of a schedule.
        "next_fires": _fires(facts, now=now) if job.singleton else (),
    }


def _state_fields(state: JobState | None) -> dict[str, Any]:
    return {
        "last_tick_at": state.last_tick_at if state else None,
        "idle_passes": state.idle_passes if state else 0,
        "paused": state is not None and state.paused_at is not None,
        "paused_at": state.paused_at if state else None,
        "paused_by": state.paused_by if state else "",
        "pause_reason": state.pause_reason if state else "",
        "first_seen_at": state.first_seen_at if state else None,
    }


def _history_fields(job_id: str, history: History, health: JobHealth) -> dict[str, Any]:
    if history.last_runs is None:
        return {
            "last_runs": None, "last_run": None, "consecutive_failures": None,
            "history_slow": True,
        }  # fmt: skip
    strip = history.last_runs.get(job_id, ())
    return {
        "last_runs": strip,
        "last_run": next((run for run in strip if run.status not in NOT_RUN), None),
        "consecutive_failures": health.consecutive_failures,
        "history_slow": False,
    }


def config_url(job: JobDeclaration) -> str:
    """Return the path of the page that owns a job's configuration; empty without one."""
    if not job.config_page:
        return ""
    try:
        return reverse(job.config_page)
    except NoReverseMatch:
        return ""


def _next_due(facts: JobFacts, *, alive_since: dt.datetime | None) -> dt.datetime | None:
    try:
        window = next_window(facts, alive_since=alive_since) if facts.cadence else None
    except EngineroomError:
        return None
    return window.due if window else None


def _fires(facts: JobFacts, *, now: dt.datetime) -> tuple[Fire, ...]:
    try:
        return next_fires(facts.cadence, after=now)
    except EngineroomError:
        return ()


def _workers() -> list[WorkerFacts]:
    columns = ("name", "started_at", "heartbeat_at", "stopped_at")
    rows = Worker.objects.order_by("-heartbeat_at").only(*columns)[:WORKERS_READ]
    return [
        WorkerFacts(
            name=row.name,
            started_at=row.started_at,
            heartbeat_at=row.heartbeat_at,
            is_stopped=row.stopped_at is not None,
        )
        for row in rows
    ]
