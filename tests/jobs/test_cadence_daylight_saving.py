"""The daylight-saving year: every slot of a year, in five zones, against two oracles."""

from __future__ import annotations

import datetime as dt
import functools
import itertools

import pytest
from cronsim import CronSim

from jobs.cadence import Cron, DaylightMark
from tests.forms import form
from tests.jobs import cron_oracle

ZONES = ("Europe/Berlin", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "UTC")
YEAR = (dt.datetime(2026, 1, 1, tzinfo=dt.UTC), dt.datetime(2027, 1, 1, tzinfo=dt.UTC))
# All of the year, or the weeks around the changes of these zones.
SPANS = form(
    full=[YEAR],
    short=[
        (
            dt.datetime(2026, month, first, tzinfo=dt.UTC),
            dt.datetime(2026, month, last, tzinfo=dt.UTC),
        )
        for month, first, last in (
            (3, 5, 12),
            (3, 26, 31),
            (4, 2, 9),
            (9, 3, 10),
            (10, 1, 8),
            (10, 23, 31),
        )
    ]
    + [(dt.datetime(2026, 10, 30, tzinfo=dt.UTC), dt.datetime(2026, 11, 6, tzinfo=dt.UTC))],
)

WILDCARD = (
    "5 * 1-8,25,29 3,4,9-11 *",
    "*/15 * 1,4-6,8,25,29 3,4,9-11 *",
    "*/30 0-3 * 3,4,9-11 *",
    "*/15 2 * * *",
    "* 2 * 3,4,9-11 0",
    "*/10 0 * * 0",
    "0 */2 * 3,4,9-11 *",
    "30 */3 * 3,4,9-11 *",
    "0,30 */6 1-8 * *",
    "*/7 1-3 1-8,25-31 3,10 *",
    "5/20 */12 * 3,4,9-11 *",
    "45 */1 * * 0",
)
DENSE = ("*/15 * * * *", "0-59 1-3 * * *")
FIXED = (
    "30 2 * * *",
    "0 2 * * *",
    "0 3 * * *",
    "15,45 2 * * *",
    "0 0 * * *",
    "30 0 * * *",
    "10,40 0-1 * * *",
    "30 1 * * *",
    "0 1-3 * * *",
    "30 23 * * *",
    "59 1 * * 0",
    "15 2 1-7 * *",
    "30 2 8,29 3,11 *",
    "0 12 13 * 5",
    "0 0 */2 * 1",
    "0-59 2 * 3,4,10,11 0",
)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("span", SPANS, ids=lambda span: f"{span[0]:%d.%m.}")
def test_the_slots_of_a_year_agree_with_the_oracles(
    zone: str, span: tuple[dt.datetime, dt.datetime]
) -> None:
    real_minutes = cron_oracle.Walk(zone, *span)

    for expression in WILDCARD + FIXED:
        cron = Cron(expression, zone=zone)
        slots = list(cron.slots_between(*span))

        assert slots == real_minutes.slots(expression), expression
        assert expression in WILDCARD or slots == _cronsim(cron, *span), expression
    for expression in DENSE:
        expected = real_minutes.slots(expression)
        tally = Cron(expression, zone=zone).latest_between(*span)

        assert tally == ((expected or [None])[-1], len(expected)), expression


@pytest.mark.parametrize(
    ("zone", "day", "slots"),
    [
        ("Europe/Berlin", "2026-03-29", 92),
        ("Europe/Berlin", "2026-10-25", 100),
        ("America/New_York", "2026-03-08", 92),
        ("America/New_York", "2026-11-01", 100),
        ("America/Santiago", "2026-09-06", 92),
        ("America/Santiago", "2026-04-04", 100),
        ("Australia/Lord_Howe", "2026-10-04", 94),
        ("Australia/Lord_Howe", "2026-04-05", 98),
        ("UTC", "2026-03-29", 96),
    ],
)
def test_a_quarter_hourly_schedule_has_the_slots_of_the_real_day(
    zone: str, day: str, slots: int
) -> None:
    cron = Cron("*/15 * * * *", zone=zone)
    noon = dt.datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=dt.UTC)
    around = cron.slots_between(noon - dt.timedelta(days=2), noon + dt.timedelta(days=2))

    of_the_day = [s for s in around if s.astimezone(cron.tzinfo).date().isoformat() == day]

    assert len(of_the_day) == slots
    assert len(set(of_the_day)) == slots


@pytest.mark.parametrize(
    ("expression", "zone", "day", "expected"),
    [
        # In the gap: once, at the first instant after it.
        ("30 2 * * *", "Europe/Berlin", "2026-03-29", ["01:00"]),
        ("15,45 2 * * *", "Europe/Berlin", "2026-03-29", ["01:00"]),
        ("30 2,3 * * *", "Europe/Berlin", "2026-03-29", ["01:00", "01:30"]),
        ("0 2,3 * * *", "Europe/Berlin", "2026-03-29", ["01:00"]),
        ("0 0 * * *", "America/Santiago", "2026-09-06", ["04:00"]),
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03", ["15:30"]),
        # In the overlap: once, at its first occurrence.
        ("30 2 * * *", "Europe/Berlin", "2026-10-25", ["00:30"]),
        ("15,45 2 * * *", "Europe/Berlin", "2026-10-25", ["00:15", "00:45"]),
        ("30 23 * * *", "America/Santiago", "2026-04-05", ["02:30"]),
        ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04", ["14:45"]),
        # A wildcard: not in the gap, twice in the overlap.
        ("*/30 2 * * *", "Europe/Berlin", "2026-03-29", []),
        ("*/30 2 * * *", "Europe/Berlin", "2026-10-25", ["00:00", "00:30", "01:00", "01:30"]),
        ("* 2 29 3 *", "Europe/Berlin", "2026-03-29", []),
    ],
)
def test_the_slots_of_a_day_of_change_in_utc(
    expression: str, zone: str, day: str, expected: list[str]
) -> None:
    start = dt.datetime.fromisoformat(f"{day}T00:00").replace(tzinfo=dt.UTC)
    end = start + dt.timedelta(hours=24) - dt.timedelta.resolution

    slots = Cron(expression, zone=zone).slots_between(start - dt.timedelta.resolution, end)

    assert [f"{slot:%H:%M}" for slot in slots] == expected


def test_a_restart_inside_the_overlap_hour_does_not_run_a_slot_twice() -> None:
    cron = Cron("30 2 * * *", zone="Europe/Berlin")
    midnight = dt.datetime(2026, 10, 24, 22, tzinfo=dt.UTC)
    slot = cron.next_after(midnight)
    tomorrow = dt.datetime(2026, 10, 26, 1, 30, tzinfo=dt.UTC)
    seconds_of_both_passes = range(0, 2 * 60 * 60, 7)

    after_restarts = {
        cron.next_after(slot + dt.timedelta(seconds=s)) for s in seconds_of_both_passes
    }

    assert slot == dt.datetime(2026, 10, 25, 0, 30, tzinfo=dt.UTC)
    assert after_restarts == {tomorrow}


def test_a_count_that_begins_in_the_second_pass_of_an_overlap_leaves_out_its_times() -> None:
    cron = Cron("15,45 2,3 * * *", zone="Europe/Berlin")
    second_pass = dt.datetime(2026, 10, 25, 1, 5, tzinfo=dt.UTC)
    evening = dt.datetime(2026, 10, 25, 20, tzinfo=dt.UTC)

    tally = cron.latest_between(second_pass, evening)

    assert tally == (dt.datetime(2026, 10, 25, 2, 45, tzinfo=dt.UTC), 2)


def test_a_restart_at_any_minute_of_a_day_of_change_neither_loses_nor_repeats_a_slot() -> None:
    expressions = ("30 2 * * *", "15,45 1-3 * * *", "*/20 2 * * *", "0 */2 * * *", "* 2 * * *")
    zones = (("Europe/Berlin", dt.datetime(2026, 10, 25, tzinfo=dt.UTC)),
             ("Australia/Lord_Howe", dt.datetime(2026, 4, 4, 14, tzinfo=dt.UTC)),
             ("Europe/Berlin", dt.datetime(2026, 3, 29, tzinfo=dt.UTC)))  # fmt: skip

    for expression, (zone, start) in itertools.product(expressions, zones):
        cron = Cron(expression, zone=zone)
        slots = list(cron.slots_between(start, start + dt.timedelta(days=2)))
        for minute in range(0, 4 * 60, 3):
            restart = start + dt.timedelta(minutes=minute, seconds=29.5)

            assert cron.next_after(restart) == next(slot for slot in slots if slot > restart)


def test_a_zone_that_skipped_a_whole_date_runs_a_daily_job_once_at_its_end() -> None:
    cron = Cron("30 2 30 12 *", zone="Pacific/Apia")
    daily = Cron("30 2 * * *", zone="Pacific/Apia")
    start = dt.datetime(2011, 12, 29, tzinfo=dt.UTC)

    skipped = cron.next_after(start)
    slots = daily.slots_between(start, start + dt.timedelta(days=4))

    assert skipped.astimezone(cron.tzinfo).isoformat() == "2011-12-31T00:00:00+14:00"
    assert [f"{slot.astimezone(daily.tzinfo):%d %H:%M}" for slot in slots] == [
        "29 02:30",
        "31 00:00",
        "31 02:30",
        "01 02:30",
        "02 02:30",
    ]


def test_a_minutely_job_goes_straight_over_a_skipped_date() -> None:
    cron = Cron("* * * * *", zone="Pacific/Apia")
    last_of_the_29th = dt.datetime(2011, 12, 30, 9, 59, tzinfo=dt.UTC)

    assert cron.next_after(last_of_the_29th) == dt.datetime(2011, 12, 30, 10, 0, tzinfo=dt.UTC)


def test_slots_that_a_change_touches_are_marked() -> None:
    berlin = functools.partial(Cron, zone="Europe/Berlin")
    gap = dt.datetime(2026, 3, 29, 1, tzinfo=dt.UTC)
    second_pass = dt.datetime(2026, 10, 25, 1, 30, tzinfo=dt.UTC)
    next_day = dt.datetime(2026, 3, 30, 0, 30, tzinfo=dt.UTC)

    assert berlin("30 2 * * *").daylight_mark(gap) is DaylightMark.GAP
    assert berlin("0 3 * * *").daylight_mark(gap) is None
    assert berlin("0 * * * *").daylight_mark(gap) is None
    assert berlin("30 2 * * *").daylight_mark(next_day) is None
    assert berlin("30 2 * * *").daylight_mark(second_pass) is DaylightMark.OVERLAP
    assert berlin("*/30 * * * *").daylight_mark(second_pass) is DaylightMark.OVERLAP
    assert Cron("30 2 * * *").daylight_mark(gap) is None


def _cronsim(cron: Cron, after: dt.datetime, until: dt.datetime) -> list[dt.datetime]:
    start = after.astimezone(cron.tzinfo)
    slots = (slot.astimezone(dt.UTC) for slot in CronSim(cron.expression, start))
    return list(dict.fromkeys(itertools.takewhile(lambda slot: slot <= until, slots)))
