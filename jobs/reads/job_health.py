"""
How a job is, in a word and in words.

By the same functions as the alert rules, so that a page never contradicts an alert.
"""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass

from jobs.alerts.facts import JobFacts
from jobs.alerts.rules import Verdict, failure_words, judge_failures
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


def job_health(job: JobFacts, *, now: dt.datetime, alive_since: dt.datetime | None) -> JobHealth:
    """
    Return how a declared job is.

    Failing before late: a job that fails says more than one that has not begun. One failure
    is said in the words and is no alert yet.
    """
    failures = len(job.failures)
    health, words = _judge(job, now=now, alive_since=alive_since)
    return JobHealth(health=health, words=words, consecutive_failures=failures)


def not_declared() -> JobHealth:
    """Return the health of a job that only the database knows."""
    words = "no installed app declares it any more; its history stays"
    return JobHealth(health=Health.NOT_DECLARED, words=words, consecutive_failures=0)


def _judge(
    job: JobFacts, *, now: dt.datetime, alive_since: dt.datetime | None
) -> tuple[Health, str]:
    if job.is_paused:
        return Health.PAUSED, "paused: no scheduled run starts"
    if judge_failures(job, now=now).verdict is Verdict.WRONG:
        return Health.FAILING, failure_words(job, now=now)
    start = judge_start(job, now=now, alive_since=alive_since)
    if start.verdict is Verdict.WRONG:
        return Health.LATE, start.words
    if job.last_start_at is None:
        by_hand = isinstance(job.cadence, Manual)
        words = "runs only by hand" if by_hand else "declared, and no scheduled run yet"
        return Health.NEVER_RAN, words
    if job.failures:
        return Health.OK, failure_words(job, now=now)
    return Health.OK, f"last scheduled start {time_words(job.last_start_at, now=now)}"
