"""Which slots run after a pause, and that every other slot is accounted for."""

from __future__ import annotations

import datetime as dt

import pytest

from jobs.cadence import CadenceError, Cron, Every, Manual
from jobs.slots import (
    DueSlot,
    PassedSlots,
    RunAll,
    RunLatest,
    Skip,
    SlotFate,
    SlotPlan,
    SlotTrigger,
    plan_slots,
)

HOURLY = Cron("0 * * * *")
MINUTELY = Cron("* * * * *")
MIDNIGHT = dt.datetime(2026, 1, 15, tzinfo=dt.UTC)
MINUTE = dt.timedelta(minutes=1)
HOUR = dt.timedelta(hours=1)
DAY = dt.timedelta(days=1)


def _run(slot: dt.datetime, trigger: SlotTrigger) -> DueSlot:
    return DueSlot(slot=slot, trigger=trigger)


def _passed(fate: SlotFate, first: dt.datetime, last: dt.datetime, count: int) -> PassedSlots:
    return PassedSlots(fate=fate, first=first, last=last, count=count)


@pytest.mark.parametrize("policy", [Skip(), RunLatest(), RunAll(at_most=5), None])
def test_a_slot_in_time_runs_by_schedule_under_every_policy(
    policy: Skip | RunLatest | RunAll | None,
) -> None:
    now = MIDNIGHT + HOUR + 14 * MINUTE  # the grace of an hourly job is 15 minutes

    plan = plan_slots(HOURLY, after=MIDNIGHT, now=now, missed=policy)

    assert plan == SlotPlan(
        runs=(_run(MIDNIGHT + HOUR, SlotTrigger.SCHEDULE),),
        accounted_until=MIDNIGHT + HOUR,
        next_due=MIDNIGHT + 2 * HOUR,
    )


def test_a_slot_as_late_as_its_grace_is_made_up_for_or_missed() -> None:
    now = MIDNIGHT + HOUR + 15 * MINUTE

    default = plan_slots(HOURLY, after=MIDNIGHT, now=now)
    skip = plan_slots(HOURLY, after=MIDNIGHT, now=now, missed=Skip())

    assert default.runs == (_run(MIDNIGHT + HOUR, SlotTrigger.CATCH_UP),)
    assert skip.runs == ()
    assert skip.passed == (_passed(SlotFate.MISSED, MIDNIGHT + HOUR, MIDNIGHT + HOUR, 1),)


def test_a_job_that_is_not_due_yet_runs_nothing() -> None:
    plan = plan_slots(HOURLY, after=MIDNIGHT, now=MIDNIGHT + 59 * MINUTE)

    assert plan == SlotPlan(accounted_until=MIDNIGHT, next_due=MIDNIGHT + HOUR)


def test_a_slot_is_due_at_its_very_instant() -> None:
    plan = plan_slots(HOURLY, after=MIDNIGHT, now=MIDNIGHT + HOUR)

    assert plan.runs == (_run(MIDNIGHT + HOUR, SlotTrigger.SCHEDULE),)


def test_a_job_just_declared_or_resumed_runs_no_slot_of_the_past() -> None:
    resumed_at = MIDNIGHT + HOUR + 20 * MINUTE

    at_once = plan_slots(HOURLY, after=resumed_at, now=resumed_at)
    on_the_slot = plan_slots(HOURLY, after=MIDNIGHT, now=MIDNIGHT)

    assert at_once == SlotPlan(accounted_until=resumed_at, next_due=MIDNIGHT + 2 * HOUR)
    assert on_the_slot == SlotPlan(accounted_until=MIDNIGHT, next_due=MIDNIGHT + HOUR)


def test_after_a_day_down_skip_runs_nothing_and_records_what_was_missed() -> None:
    plan = plan_slots(HOURLY, after=MIDNIGHT, now=MIDNIGHT + DAY + 30 * MINUTE, missed=Skip())

    assert plan == SlotPlan(
        passed=(_passed(SlotFate.MISSED, MIDNIGHT + HOUR, MIDNIGHT + DAY, 24),),
        accounted_until=MIDNIGHT + DAY,
        next_due=MIDNIGHT + DAY + HOUR,
    )


def test_skip_still_runs_the_slot_within_its_grace() -> None:
    plan = plan_slots(HOURLY, after=MIDNIGHT, now=MIDNIGHT + DAY + 5 * MINUTE, missed=Skip())

    assert plan.runs == (_run(MIDNIGHT + DAY, SlotTrigger.SCHEDULE),)
    assert plan.passed == (_passed(SlotFate.MISSED, MIDNIGHT + HOUR, MIDNIGHT + DAY - HOUR, 23),)


def test_skip_does_not_call_missed_what_is_younger_than_the_grace() -> None:
    now = MIDNIGHT + HOUR
    every_ten_seconds = Every(seconds=10)

    plan = plan_slots(every_ten_seconds, after=now - 2 * MINUTE, now=now, missed=Skip())

    ten = dt.timedelta(seconds=10)
    assert plan.runs == (_run(now, SlotTrigger.SCHEDULE),)
    assert plan.passed == (
        _passed(SlotFate.MISSED, now - 2 * MINUTE + ten, now - MINUTE, 6),
        _passed(SlotFate.COALESCED, now - MINUTE + ten, now - ten, 5),
    )


def test_after_a_day_down_the_default_runs_once_for_the_latest_slot() -> None:
    plan = plan_slots(HOURLY, after=MIDNIGHT, now=MIDNIGHT + DAY + 30 * MINUTE)

    assert plan == SlotPlan(
        runs=(_run(MIDNIGHT + DAY, SlotTrigger.CATCH_UP),),
        passed=(_passed(SlotFate.COALESCED, MIDNIGHT + HOUR, MIDNIGHT + DAY - HOUR, 23),),
        accounted_until=MIDNIGHT + DAY,
        next_due=MIDNIGHT + DAY + HOUR,
    )


def test_after_a_day_down_all_runs_the_latest_slots_in_order_up_to_its_maximum() -> None:
    now = MIDNIGHT + DAY + 5 * MINUTE

    plan = plan_slots(HOURLY, after=MIDNIGHT, now=now, missed=RunAll(at_most=3))

    assert plan.runs == (
        _run(MIDNIGHT + DAY - 2 * HOUR, SlotTrigger.CATCH_UP),
        _run(MIDNIGHT + DAY - HOUR, SlotTrigger.CATCH_UP),
        _run(MIDNIGHT + DAY, SlotTrigger.SCHEDULE),
    )
    assert plan.passed == (
        _passed(SlotFate.COALESCED, MIDNIGHT + HOUR, MIDNIGHT + DAY - 3 * HOUR, 21),
    )


def test_all_runs_everything_when_its_maximum_is_enough() -> None:
    plan = plan_slots(HOURLY, after=MIDNIGHT, now=MIDNIGHT + DAY, missed=RunAll(at_most=24))

    assert [run.slot for run in plan.runs] == [MIDNIGHT + n * HOUR for n in range(1, 25)]
    assert plan.passed == ()


def test_a_storm_of_slots_becomes_a_few_runs_and_one_entry() -> None:
    plan = plan_slots(MINUTELY, after=MIDNIGHT, now=MIDNIGHT + DAY, missed=RunAll(at_most=10))

    assert len(plan.runs) == 10
    assert [passed.count for passed in plan.passed] == [1430]
    assert plan.slot_count == 1440


def test_a_year_of_missed_minutes_is_one_run_and_one_entry() -> None:
    now = MIDNIGHT + 365 * DAY

    plan = plan_slots(MINUTELY, after=MIDNIGHT, now=now)

    assert plan.runs == (_run(now, SlotTrigger.SCHEDULE),)
    assert plan.passed == (
        _passed(SlotFate.COALESCED, MIDNIGHT + MINUTE, now - MINUTE, 365 * 1440 - 1),
    )


def test_a_daily_job_under_hourly_deploys_for_three_days_runs_three_times() -> None:
    daily = Cron("30 2 * * *", zone="Europe/Berlin")
    accounted = MIDNIGHT
    runs: list[DueSlot] = []

    for hour in range(3 * 24):  # each deploy knows nothing but what the database holds
        plan = plan_slots(daily, after=accounted, now=MIDNIGHT + hour * HOUR + 7 * MINUTE)
        accounted = plan.accounted_until
        runs += plan.runs

    assert [run.slot.day for run in runs] == [15, 16, 17]


def test_a_clock_that_goes_back_runs_no_slot_twice() -> None:
    first = plan_slots(HOURLY, after=MIDNIGHT, now=MIDNIGHT + 2 * HOUR)
    set_back = plan_slots(HOURLY, after=first.accounted_until, now=MIDNIGHT + HOUR + MINUTE)

    assert set_back.runs == ()
    assert set_back.passed == ()
    assert set_back.accounted_until == MIDNIGHT + 2 * HOUR
    assert set_back.next_due == MIDNIGHT + 3 * HOUR


def test_a_manual_job_has_no_slots_to_plan() -> None:
    plan = plan_slots(Manual(), after=MIDNIGHT, now=MIDNIGHT + DAY)

    assert plan == SlotPlan(accounted_until=MIDNIGHT, next_due=None)


@pytest.mark.parametrize("at_most", [0, -1, 1001, True, 2.0, "3"])
def test_a_maximum_of_runs_that_is_none_is_refused(at_most: int) -> None:
    with pytest.raises(CadenceError, match="maximum of runs"):
        RunAll(at_most=at_most)
