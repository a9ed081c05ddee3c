"""
How a job is, in a word and in words.

By the same functions as the alert rules, so that a page never contradicts an alert.
"""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass

from jobs.alerts.facts import JobFacts
from jobs.alerts.rules import Judgement, Verdict, failure_words, judge_failures
from jobs.alerts.windows import judge_start
from jobs.cadence import Manual
from jobs.reads.words import time_words


class Health(enum.StrEnum):
    """How a job is."""

    OK = "ok"
    LATE = "late"  # its scheduled run did not start in time
    FAILING = "failing"  # its last scheduled runs failed
    NEVER_RAN = "never ran"
    PAUSED = "paused"
    NOT_DECLARED = "not declared"  # it has a history, and no installed app declares it


@dataclass(frozen=True, kw_only=True)
class JobHealth:
    """A job's health, and why."""

    health: Health
    words: str
    consecutive_failures: int


def job_health(
    job: JobFacts,
    *,
    now: dt.datetime,
    alive_since: dt.datetime | None,
    history_known: bool = True,
) -> JobHealth:
    """
    Return how a declared job is.

    Failing before late: a job that fails says more than one that has not begun. One failure
    is said in the words and is no alert yet. Without its history a job can still be late.
    """
    if job.is_paused:
        health, words = Health.PAUSED, "paused: no scheduled run starts"
    elif judge_failures(job, now=now).verdict is Verdict.WRONG:
        health, words = Health.FAILING, failure_words(job, now=now)
    else:
        start = judge_start(job, now=now, alive_since=alive_since)
        health, words = _by_start(job, start, now=now, history_known=history_known)
    return JobHealth(health=health, words=words, consecutive_failures=len(job.failures))


def not_declared() -> JobHealth:
    """Return the health of a job that only the database knows."""
    words = "no installed app declares it any more; its history stays"
    return JobHealth(health=Health.NOT_DECLARED, words=words, consecutive_failures=0)


def _by_start(
    job: JobFacts, start: Judgement, *, now: dt.datetime, history_known: bool
) -> tuple[Health, str]:
    is_wrong = start.verdict is Verdict.WRONG
    has_history = history_known or not job.singleton
    if job.last_start_at is None and has_history and job.cadence is not None:
        return Health.NEVER_RAN, start.words if is_wrong else _never_ran_words(job)
    if is_wrong:
        return Health.LATE, start.words
    if job.last_start_at is None:
        return Health.OK, "history is slow; it is not late"
    if job.failures:
        return Health.OK, failure_words(job, now=now)
    return Health.OK, f"last scheduled start {time_words(job.last_start_at, now=now)}"


def _never_ran_words(job: JobFacts) -> str:
    if isinstance(job.cadence, Manual):
        return "runs only by hand"
    return "declared, and no scheduled run yet"
