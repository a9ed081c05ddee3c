"""The rule ``missed_window``: did a job's scheduled run start when it should?"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from jobs.alerts.facts import TICK_PRECISION, JobFacts, RunFacts
from jobs.alerts.rules import PAUSED_WORDS, Judgement, Verdict
from jobs.cadence import Every, Manual, grace
from jobs.errors import EngineroomError
from jobs.models.run import RunStatus
from jobs.reads.words import duration_words, instant_words

# A worker that has just started gets so long to take what was due before.
SETTLING = dt.timedelta(seconds=60)


@dataclass(frozen=True, kw_only=True)
class Window:
    """When a scheduled run should start, and how late it may."""

    due: dt.datetime
    grace: dt.timedelta

    def is_missed(self, *, now: dt.datetime, alive_since: dt.datetime | None) -> bool:
        """Say whether the window has passed, and the workers have had time to fill it."""
        latest = self.due + self.grace
        if alive_since is not None:
            latest = max(latest, alive_since + SETTLING)
        return now >= latest


def judge_window(
    job: JobFacts, *, now: dt.datetime, alive_since: dt.datetime | None, has_worker: bool = True
) -> Judgement:
    """
    ``missed_window``: no scheduled run started by its due time and the grace.

    Also of a job that never ran, and of one whose schedule is broken. ``alive_since`` is
    since when there are workers. Without any (``has_worker`` is False) it opens nothing:
    that is one alert, not one per job.
    """
    if job.is_paused:
        return Judgement(subject=job.id, verdict=Verdict.CLOSED, words=PAUSED_WORDS)
    judgement = judge_start(job, now=now, alive_since=alive_since)
    if judgement.verdict is Verdict.WRONG and not has_worker:
        return dataclasses.replace(judgement, verdict=Verdict.UNDECIDED)
    return judgement


def judge_start(job: JobFacts, *, now: dt.datetime, alive_since: dt.datetime | None) -> Judgement:
    """Return whether the last scheduled run started in time, whatever the workers do."""
    if job.cadence is None:
        return _wrong(job, f"its cadence cannot be read: {job.trouble}")
    if isinstance(job.cadence, Manual):
        return _well(job, "It runs by hand only.")
    try:
        window = next_window(job, alive_since=alive_since)
        if window is None:
            return Judgement(subject=job.id, verdict=Verdict.UNDECIDED)
        if window.is_missed(now=now, alive_since=alive_since):
            return _missed(job, window, now=now)
        return _judge_slots(job, now=now)
    except EngineroomError as error:
        return _wrong(job, f"its schedule is broken: {error}")


def next_window(job: JobFacts, *, alive_since: dt.datetime | None) -> Window | None:
    """
    Return the window of the next scheduled run; None where nothing says when it begins.

    A singleton's due time is kept in the database. A queue worker is due a poll after its
    last tick; the tick is exact to ten seconds. Of a job that no worker has taken up, the
    time counts from the start of the workers that are there.
    """
    known = (job.accounted_until, job.first_seen_at, alive_since)
    if not job.singleton:
        last = max(
            (at for at in (job.last_start_at, job.accounted_until) if at is not None),
            default=job.first_seen_at or alive_since,
        )
        if last is None or not isinstance(job.cadence, Every):
            return None
        due = last + job.cadence.interval
        # From a slot to the next is a whole interval; the tick may be anywhere between.
        allowed = grace(job.cadence, job.cadence.next_after(due))
        return Window(due=due, grace=allowed + TICK_PRECISION)
    assert job.cadence is not None
    base = next((at for at in known if at is not None), None)
    next_due = job.next_due_at or (job.cadence.next_after(base) if base else None)
    return Window(due=next_due, grace=grace(job.cadence, next_due)) if next_due else None


def _judge_slots(job: JobFacts, *, now: dt.datetime) -> Judgement:
    """
    Judge by what became of the slots that are accounted for.

    A slot that nobody took in time and nothing made up for is a missed window. One that was
    skipped since the run before went on is not; two of them are: that run has lasted for
    longer than a whole period.
    """
    slots = _current_slots(job)
    if slots and slots[0].status == RunStatus.MISSED:
        return _wrong(job, f"the slot of {_slot_words(slots[0].slot, now)} was missed", slots[:1])
    skipped = slots[:2]
    if len(skipped) == 2 and all(run.status == RunStatus.SKIPPED for run in skipped):
        since = _slot_words(skipped[1].slot, now)
        return _wrong(job, f"every slot since {since} was skipped: a run goes on", skipped)
    started = job.last_start_at
    if started is None:
        return Judgement(subject=job.id, verdict=Verdict.UNDECIDED)
    return _well(job, f"A scheduled run started at {instant_words(started, now=now)}.")


def _current_slots(job: JobFacts) -> tuple[RunFacts, ...]:
    """Return the last slots, unless a resume or an edit of the cadence came after them."""
    newest = job.slots[0].slot if job.slots else None
    if newest is None or (job.accounted_until is not None and newest < job.accounted_until):
        return ()
    return job.slots


def _missed(job: JobFacts, window: Window, *, now: dt.datetime) -> Judgement:
    due = instant_words(window.due, now=now)
    words = f"due {due}, grace {duration_words(window.grace.total_seconds())}, no run started"
    if job.last_start_at is None:
        words += "; it never ran"
    return _wrong(job, words)


def _slot_words(slot: dt.datetime | None, now: dt.datetime) -> str:
    return instant_words(slot, now=now) if slot else "?"


def _wrong(job: JobFacts, words: str, runs: Sequence[RunFacts] = ()) -> Judgement:
    evidence = {"run_ids": [run.id for run in runs]} if runs else {}
    return Judgement(subject=job.id, verdict=Verdict.WRONG, words=words, evidence=evidence)


def _well(job: JobFacts, words: str) -> Judgement:
    return Judgement(subject=job.id, verdict=Verdict.WELL, words=words)
