"""No slot is lost and none is planned twice, whatever the cadence, policy and pauses."""

from __future__ import annotations

import datetime as dt
import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.cadence import Cadence, Cron, Every, grace
from jobs.slots import RunAll, RunLatest, Skip, SlotFate, SlotPlan, SlotTrigger, plan_slots
from tests.forms import form

START = dt.datetime(2026, 3, 28, 20, tzinfo=dt.UTC)

cadences = st.one_of(
    st.sampled_from(
        [
            Cron("*/10 * * * *", zone="Europe/Berlin"),
            Cron("30 2 * * *", zone="Europe/Berlin"),
            Cron("0 */2 * * *", zone="Australia/Lord_Howe"),
            Cron("15,45 1-3 * * *", zone="Europe/Berlin"),
            Cron("7 9-17 * * mon-fri", zone="America/New_York"),
        ]
    ),
    st.integers(7, 7200).map(lambda seconds: Every(seconds=seconds)),
)
policies = st.one_of(
    st.just(Skip()), st.just(RunLatest()), st.integers(1, 30).map(lambda n: RunAll(at_most=n))
)
pauses = st.timedeltas(dt.timedelta(0), dt.timedelta(hours=30))


def _slots_of(plan: SlotPlan, cadence: Cadence) -> list[dt.datetime]:
    passed = [
        slot
        for entry in plan.passed
        for slot in cadence.slots_between(entry.first - dt.timedelta.resolution, entry.last)
    ]
    return [*passed, *(run.slot for run in plan.runs)]


@given(cadences, policies, pauses)
@settings(max_examples=form(short=25, full=100), deadline=None)
def test_a_plan_accounts_for_every_slot_once_and_in_order(
    cadence: Cron | Every, policy: Skip | RunLatest | RunAll, pause: dt.timedelta
) -> None:
    now = START + pause

    plan = plan_slots(cadence, after=START, now=now, missed=policy)

    slots = list(cadence.slots_between(START, now))
    assert _slots_of(plan, cadence) == slots
    assert plan.slot_count == len(slots)
    assert plan.accounted_until == (slots[-1] if slots else START)
    assert plan.next_due == cadence.next_after(plan.accounted_until)
    assert plan.next_due > now


@given(cadences, policies, st.lists(pauses, min_size=1, max_size=6))
@settings(max_examples=form(short=15, full=50), deadline=None)
def test_plans_one_after_another_lose_no_slot_and_repeat_none(
    cadence: Cron | Every, policy: Skip | RunLatest | RunAll, stops: list[dt.timedelta]
) -> None:
    accounted, planned = START, []

    for pause in stops:  # in any order: a clock may also go back
        plan = plan_slots(cadence, after=accounted, now=START + pause, missed=policy)
        planned += _slots_of(plan, cadence)
        accounted = plan.accounted_until

    assert planned == list(cadence.slots_between(START, START + max(stops)))


@given(cadences, policies, pauses)
@settings(max_examples=form(short=25, full=100), deadline=None)
def test_what_runs_follows_the_policy(
    cadence: Cron | Every, policy: Skip | RunLatest | RunAll, pause: dt.timedelta
) -> None:
    now = START + pause
    slots = list(cadence.slots_between(START, now))

    plan = plan_slots(cadence, after=START, now=now, missed=policy)

    in_time = {slot for slot in slots if now - slot < grace(cadence, slot)}
    missed = [entry for entry in plan.passed if entry.fate is SlotFate.MISSED]
    for run in plan.runs:
        assert (run.trigger is SlotTrigger.SCHEDULE) == (run.slot in in_time)
    match policy:
        case Skip():
            assert [run.slot for run in plan.runs] == [s for s in slots[-1:] if s in in_time]
            assert sum(entry.count for entry in missed) == len(slots) - len(in_time)
        case RunLatest():
            assert [run.slot for run in plan.runs] == slots[-1:]
            assert missed == []
        case RunAll(at_most=limit):
            assert [run.slot for run in plan.runs] == slots[-limit:]
            assert missed == []
    assert len(plan.passed) <= 2
    assert all(a.last < b.first for a, b in itertools.pairwise(plan.passed))
