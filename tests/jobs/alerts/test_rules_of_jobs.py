"""The rules about jobs, as pure functions over facts."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.alerts.facts import RunFacts
from jobs.alerts.rules import Verdict, judge_failures
from jobs.alerts.windows import judge_window
from tests.jobs.alerts.facts import LONG_AGO, NOW, ended, hourly_job, minutes_ago, polled_job


@pytest.mark.parametrize("status", ["failed", "lost", "interrupted"])
def test_three_scheduled_failures_in_a_row_are_wrong_whatever_their_kind(status) -> None:
    judgement = judge_failures(hourly_job(ended=ended(status, status, status)), now=NOW)

    assert judgement.verdict is Verdict.WRONG
    assert judgement.evidence["run_ids"] == [100, 99, 98]


def test_two_failures_open_nothing_even_when_there_is_no_older_row() -> None:
    judgement = judge_failures(hourly_job(ended=ended("failed", "failed")), now=NOW)

    assert judgement.verdict is Verdict.UNDECIDED


def test_one_scheduled_success_is_well_again() -> None:
    runs = ended("failed", "succeeded", "failed", "failed", "failed")

    assert judge_failures(hourly_job(ended=runs), now=NOW).verdict is Verdict.WELL


def test_a_failing_job_says_how_many_runs_failed_and_when_the_last_good_one_was() -> None:
    runs = ended("failed", "failed", "failed", "failed", first_minutes_ago=0)
    good_at = NOW - dt.timedelta(days=8)
    good = RunFacts(id=1, status="succeeded", started_at=good_at, finished_at=good_at)

    judgement = judge_failures(hourly_job(ended=(*runs, good)), now=NOW)

    assert judgement.words == "4 scheduled runs in a row failed; the last good one was 8 d ago"


def test_an_idle_pass_after_the_failures_of_a_queue_worker_is_its_success() -> None:
    runs = ended("failed", "failed", "failed", first_minutes_ago=5)

    failing = judge_failures(polled_job(ended=runs, last_tick_at=LONG_AGO), now=NOW)
    well = judge_failures(polled_job(ended=runs, last_tick_at=minutes_ago(1)), now=NOW)

    assert failing.verdict is Verdict.WRONG
    assert well.verdict is Verdict.WELL


def test_failures_within_ten_seconds_of_a_tick_prove_nothing_of_a_fast_queue() -> None:
    at = minutes_ago(1)
    runs = tuple(
        RunFacts(id=n, status="failed", finished_at=at + dt.timedelta(seconds=n)) for n in (9, 6, 3)
    )

    assert judge_failures(polled_job(ended=runs, last_tick_at=at), now=NOW).verdict is Verdict.WELL


def test_a_paused_job_closes_its_alerts_and_says_so() -> None:
    paused = hourly_job(is_paused=True, ended=ended("failed", "failed", "failed"))

    for judgement in (
        judge_failures(paused, now=NOW),
        judge_window(paused, now=NOW, alive_since=LONG_AGO),
    ):
        assert judgement.verdict is Verdict.CLOSED
        assert "paused" in judgement.words


def test_a_queue_worker_whose_passes_fail_has_started_them_in_time() -> None:
    job = polled_job(last_tick_at=LONG_AGO, ended=ended("failed", first_minutes_ago=0.5))

    assert judge_window(job, now=NOW, alive_since=LONG_AGO).verdict is Verdict.WELL


@given(
    st.lists(st.sampled_from(["succeeded", "failed", "lost", "interrupted"]), max_size=20),
    st.booleans(),
)
def test_a_failing_job_has_three_failures_since_its_last_success(statuses, singleton) -> None:
    make = hourly_job if singleton else polled_job

    verdict = judge_failures(make(ended=ended(*statuses)), now=NOW).verdict

    newest = statuses.index("succeeded") if "succeeded" in statuses else len(statuses)
    assert (verdict is Verdict.WRONG) == (newest >= 3)
    assert (verdict is Verdict.WELL) == ("succeeded" in statuses and newest < 3)
