"""The rule about missed windows, as a pure function over facts."""

from __future__ import annotations

import datetime as dt

import pytest

from jobs.alerts.facts import JobFacts, RunFacts
from jobs.alerts.rules import Verdict
from jobs.alerts.windows import judge_window
from jobs.cadence import Every, Manual
from tests.jobs.alerts.facts import (
    HOURLY,
    LONG_AGO,
    NOW,
    ended,
    hourly_job,
    minutes_ago,
    polled_job,
)


@pytest.mark.parametrize(("late_minutes", "is_missed"), [(14.9, False), (15, True)])
def test_a_window_is_missed_when_the_grace_has_passed_and_nothing_started(
    late_minutes, is_missed
) -> None:
    # An hourly job: half its period is 30 minutes, and 15 are the most.
    job = hourly_job(next_due_at=NOW, ended=ended("succeeded"))
    now = NOW + dt.timedelta(minutes=late_minutes)

    judgement = judge_window(job, now=now, alive_since=LONG_AGO)

    assert (judgement.verdict is Verdict.WRONG) == is_missed


@pytest.mark.parametrize(
    ("cadence", "grace_seconds"),
    [(Every(seconds=60), 60), (Every(seconds=600), 300), (Every(seconds=86_400), 900)],
)
def test_the_grace_is_half_the_period_at_least_a_minute_at_most_fifteen(
    cadence, grace_seconds
) -> None:
    def verdict(late_seconds: float) -> Verdict:
        midnight = NOW.replace(hour=0)
        job = hourly_job(cadence=cadence, next_due_at=midnight)
        now = midnight + dt.timedelta(seconds=late_seconds)
        return judge_window(job, now=now, alive_since=LONG_AGO).verdict

    assert verdict(grace_seconds - 1) is not Verdict.WRONG
    assert verdict(grace_seconds) is Verdict.WRONG


def test_a_job_that_never_ran_is_missed_and_named() -> None:
    job = hourly_job(next_due_at=minutes_ago(60))

    judgement = judge_window(job, now=NOW, alive_since=LONG_AGO)

    assert judgement.verdict is Verdict.WRONG
    assert judgement.subject == "shop.orders"
    assert judgement.words.endswith("no run started; it never ran")


def test_a_job_that_no_worker_has_taken_up_is_missed_from_the_workers_start() -> None:
    unseen = JobFacts(id="shop.orders", cadence=HOURLY)

    started_before_a_slot = judge_window(unseen, now=NOW, alive_since=minutes_ago(90))
    started_just_now = judge_window(unseen, now=NOW, alive_since=minutes_ago(1))
    no_worker = judge_window(unseen, now=NOW, alive_since=None)

    assert started_before_a_slot.verdict is Verdict.WRONG
    assert started_just_now.verdict is not Verdict.WRONG
    assert no_worker.verdict is Verdict.UNDECIDED


def test_a_job_that_runs_by_hand_only_has_no_window() -> None:
    job = hourly_job(cadence=Manual())

    assert judge_window(job, now=NOW, alive_since=LONG_AGO).verdict is Verdict.WELL


def test_a_cadence_that_cannot_be_read_is_named_with_its_reason() -> None:
    job = hourly_job(cadence=None, trouble="The cron expression '99 * * * *' is refused.")

    judgement = judge_window(job, now=NOW, alive_since=LONG_AGO)

    assert judgement.verdict is Verdict.WRONG
    assert "99 * * * *" in judgement.words


def test_without_a_worker_no_window_opens_an_alert_and_none_is_resolved() -> None:
    job = hourly_job(next_due_at=minutes_ago(600))

    judgement = judge_window(job, now=NOW, alive_since=None, has_worker=False)

    assert judgement.verdict is Verdict.UNDECIDED


def test_workers_that_have_just_started_get_a_minute_to_take_what_was_due_before() -> None:
    job = hourly_job(next_due_at=minutes_ago(600))

    settling = judge_window(job, now=NOW, alive_since=NOW - dt.timedelta(seconds=59))
    settled = judge_window(job, now=NOW, alive_since=NOW - dt.timedelta(seconds=60))

    assert settling.verdict is not Verdict.WRONG
    assert settled.verdict is Verdict.WRONG


def test_a_slot_that_was_missed_and_not_made_up_for_is_a_missed_window() -> None:
    slot = minutes_ago(60)
    missed = RunFacts(id=7, status="missed", slot=slot, finished_at=minutes_ago(30))
    job = hourly_job(
        next_due_at=NOW + dt.timedelta(minutes=30), accounted_until=slot, slots=(missed,)
    )

    judgement = judge_window(job, now=NOW, alive_since=LONG_AGO)

    assert judgement.verdict is Verdict.WRONG
    assert judgement.evidence["run_ids"] == [7]


def test_slots_of_before_a_resume_are_not_missed() -> None:
    missed = RunFacts(id=7, status="missed", slot=minutes_ago(60))
    job = hourly_job(
        next_due_at=NOW + dt.timedelta(minutes=30), accounted_until=minutes_ago(5), slots=(missed,)
    )

    assert judge_window(job, now=NOW, alive_since=LONG_AGO).verdict is not Verdict.WRONG


def test_one_skipped_slot_is_no_alert_and_two_are_since_a_run_outlasts_its_period() -> None:
    slots = tuple(
        RunFacts(id=9 - n, status="skipped", slot=minutes_ago(10 + 60 * n)) for n in range(2)
    )
    running = RunFacts(id=1, status="running", slot=minutes_ago(130), started_at=minutes_ago(130))
    due = NOW + dt.timedelta(minutes=50)

    def verdict(*found: RunFacts) -> Verdict:
        job = hourly_job(next_due_at=due, accounted_until=found[0].slot, slots=found)
        return judge_window(job, now=NOW, alive_since=LONG_AGO).verdict

    assert verdict(slots[0], running) is Verdict.WELL
    assert verdict(*slots) is Verdict.WRONG


def test_a_queue_worker_is_late_a_poll_and_a_grace_after_its_last_tick() -> None:
    def verdict(seconds: float) -> Verdict:
        tick = NOW - dt.timedelta(seconds=seconds)
        return judge_window(polled_job(last_tick_at=tick), now=NOW, alive_since=LONG_AGO).verdict

    # 30 s poll, 60 s grace, and the tick is exact to 10 s.
    assert verdict(99) is Verdict.WELL
    assert verdict(100) is Verdict.WRONG


def test_the_grace_of_a_queue_worker_is_half_its_whole_interval() -> None:
    # The tick lies anywhere between two slots of the interval.
    tick = NOW - dt.timedelta(minutes=28)
    job = polled_job(cadence=Every(seconds=1200), last_tick_at=tick)

    in_time = judge_window(job, now=NOW, alive_since=LONG_AGO)
    late = judge_window(job, now=NOW + dt.timedelta(minutes=3), alive_since=LONG_AGO)

    assert in_time.verdict is Verdict.WELL
    assert late.verdict is Verdict.WRONG


def test_a_queue_worker_that_was_just_resumed_is_not_late() -> None:
    job = polled_job(last_tick_at=LONG_AGO, accounted_until=minutes_ago(0.5))

    assert judge_window(job, now=NOW, alive_since=LONG_AGO).verdict is not Verdict.WRONG
