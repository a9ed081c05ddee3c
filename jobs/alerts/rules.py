"""
The alert rules, as pure functions of facts.

Each returns a judgement about one subject. ``WRONG`` opens an alert or keeps it open,
``WELL`` and ``CLOSED`` resolve an open one, ``UNDECIDED`` leaves things as they are: what
opens an alert and what resolves it are not each other's opposite.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from jobs.alerts.facts import (
    BackupFacts,
    DeadLetterFacts,
    JobFacts,
    StallFacts,
    WorkerFacts,
)
from jobs.models.alert import AlertRule
from jobs.reads.words import instant_words, relative_words, time_words

FAILURES_IN_A_ROW = 3
HEARTBEAT_LIMIT = dt.timedelta(seconds=60)
STALL_LIMIT = dt.timedelta(minutes=10)
ALL_WORKERS = "-"
PAUSED_WORDS = "The job was paused."

# What closes an alert of each rule, for pages and mails.
CLOSES_WHEN = {
    AlertRule.CONSECUTIVE_FAILURES: "One scheduled run succeeds.",
    AlertRule.MISSED_WINDOW: "The next scheduled run starts.",
    AlertRule.DEAD_LETTER_DEPTH: "The queue holds fewer dead letters than its threshold.",
    AlertRule.BACKUP_OLDER_THAN_RPO: "A backup is verified.",
    AlertRule.STALLED: "A row is finished, progress is recorded, or nothing is processing.",
    AlertRule.NO_WORKER: "A worker sends a heartbeat.",
}


class Verdict(enum.Enum):
    """What a rule says of a subject."""

    WRONG = "wrong"
    WELL = "well"  # what the rule waits for has happened
    CLOSED = "closed"  # it is no longer asked, such as of a paused job
    UNDECIDED = "undecided"  # neither opens nor resolves
    FAILED = "failed"  # the rule itself could not be evaluated


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What a rule says of one subject, in words that a page can show."""

    subject: str
    verdict: Verdict
    words: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)


def judge_failures(job: JobFacts, *, now: dt.datetime) -> Judgement:
    """
    ``consecutive_failures``: three scheduled failures in a row; one success resolves.

    Failed, lost and interrupted runs are failures; manual runs are not among the facts.
    Fewer than three rows never open an alert, and a history that was pruned never resolves
    one.
    """
    if job.is_paused:
        return _closed(job.id)
    failures = job.failures
    if len(failures) >= FAILURES_IN_A_ROW:
        return Judgement(
            subject=job.id,
            verdict=Verdict.WRONG,
            words=failure_words(job, now=now),
            evidence={"run_ids": [run.id for run in failures], "failures": len(failures)},
        )
    success = job.last_success_at
    if success is None:
        return Judgement(subject=job.id, verdict=Verdict.UNDECIDED)
    return _well(job.id, f"A scheduled run succeeded at {instant_words(success, now=now)}.")


def failure_words(job: JobFacts, *, now: dt.datetime) -> str:
    """Return how many scheduled runs in a row have failed, and when the last good one was."""
    failures = job.failures
    # When every row that was read is a failure, there may be more of them.
    more = "+" if len(failures) == len(job.ended) > FAILURES_IN_A_ROW else ""
    runs = f"{len(failures)}{more} scheduled runs in a row"
    if len(failures) == 1:
        runs = "The last scheduled run"
    good = job.last_success_at
    if good is None:
        return f"{runs} failed; no good one is known"
    return f"{runs} failed; the last good one was {relative_words(good, now=now)}"


def judge_dead_letters(queue: DeadLetterFacts) -> Judgement:
    """``dead_letter_depth``: as many dead letters as the queue's threshold, or more."""
    if queue.is_paused:
        return _closed(queue.queue)
    number = f"{queue.count:,}{'+' if queue.is_capped else ''}"
    noun = "dead letter" if number == "1" else "dead letters"
    if queue.count >= queue.threshold:
        return Judgement(
            subject=queue.queue,
            verdict=Verdict.WRONG,
            words=f"{number} {noun}, threshold {queue.threshold:,}",
            evidence={"count": queue.count, "is_capped": queue.is_capped, "job_id": queue.job_id},
        )
    return _well(queue.queue, f"{number} {noun}, below the threshold of {queue.threshold:,}.")


def judge_backup(backup: BackupFacts, *, now: dt.datetime) -> Judgement:
    """``backup_older_than_rpo``: none verified, or the newest older than it may be."""
    if not backup.is_enabled:
        return _closed(backup.subject, "Backups are not enabled.")
    if backup.is_paused:
        return _closed(backup.subject)
    newest = backup.newest_verified_at
    allowed = f"at most {backup.rpo_hours:g} h old is wanted"
    if newest is None:
        # A comparison with a missing time would stay silent for ever.
        return _wrong(backup.subject, f"no verified backup; {allowed}")
    if now - newest > dt.timedelta(hours=backup.rpo_hours):
        return _wrong(
            backup.subject,
            f"the newest verified backup is of {time_words(newest, now=now)}; {allowed}",
        )
    return _well(backup.subject, f"A backup was verified at {instant_words(newest, now=now)}.")


def judge_stall(queue: StallFacts, *, now: dt.datetime) -> Judgement:
    """
    ``stalled``: rows in work, and for ten minutes none finished and no progress recorded.

    A row that another worker took over begins its ten minutes anew but resolves nothing.
    """
    if queue.is_paused:
        return _closed(queue.queue)
    if not queue.processing or queue.in_work_since is None:
        return _well(queue.queue, "Nothing is processing.")
    moved = max((at for at in (queue.finished_at, queue.moved_at) if at), default=None)
    quiet_since = max(queue.in_work_since, moved) if moved else queue.in_work_since
    if now - quiet_since >= STALL_LIMIT:
        return Judgement(
            subject=queue.queue,
            verdict=Verdict.WRONG,
            words=(
                f"{queue.processing:,} in work, nothing finished and no progress"
                f" since {time_words(quiet_since, now=now)}"
            ),
            evidence={"processing": queue.processing, "job_id": queue.job_id},
        )
    if moved and now - moved < STALL_LIMIT:
        return _well(queue.queue, f"It moved at {instant_words(moved, now=now)}.")
    return Judgement(subject=queue.queue, verdict=Verdict.UNDECIDED)


def judge_workers(workers: Iterable[WorkerFacts], *, now: dt.datetime) -> Judgement:
    """``no_worker``: no heartbeat of any worker for a minute, or none ever."""
    newest = max((worker.heartbeat_at for worker in workers), default=None)
    start = "start one: manage.py runworkers"
    if newest is None:
        return _wrong(ALL_WORKERS, f"no worker has ever sent a heartbeat; {start}")
    if now - newest >= HEARTBEAT_LIMIT:
        return _wrong(ALL_WORKERS, f"last heartbeat {time_words(newest, now=now)}; {start}")
    return _well(ALL_WORKERS, f"A worker sent a heartbeat at {instant_words(newest, now=now)}.")


def alive_since(workers: Iterable[WorkerFacts], *, now: dt.datetime) -> dt.datetime | None:
    """
    Return since when there has been a worker without a gap of a minute; None: there is none.

    Workers that die and are started again within a minute count as one: otherwise a process
    that dies every 50 seconds would be forgiven each slot that it misses.
    """
    reached = now
    found = None
    for worker in sorted(workers, key=lambda worker: worker.heartbeat_at, reverse=True):
        if worker.heartbeat_at <= reached - HEARTBEAT_LIMIT:
            break
        reached = found = min(reached, worker.started_at)
    return found


def _wrong(subject: str, words: str) -> Judgement:
    return Judgement(subject=subject, verdict=Verdict.WRONG, words=words)


def _well(subject: str, words: str) -> Judgement:
    return Judgement(subject=subject, verdict=Verdict.WELL, words=words)


def _closed(subject: str, words: str = PAUSED_WORDS) -> Judgement:
    return Judgement(subject=subject, verdict=Verdict.CLOSED, words=words)
