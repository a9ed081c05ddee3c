"""What a cadence may say, what is refused with which reason, and how it reads."""

from __future__ import annotations

import datetime as dt

import pytest

from jobs.cadence import CadenceError, Cron, Every, Manual, grace
from jobs.errors import EngineroomError

NOON = dt.datetime(2026, 1, 15, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("", "it is empty"),
        ("   ", "it is empty"),
        ("* * * *", "it has 4 of the five fields"),
        ("* * * * * *", "it has 6 fields; there are no seconds or years"),
        ("0 0 1 1 * 0 2026", "it has 7 fields; there are no seconds or years"),
        ("* * * * * * * *", "it has 8 of the five fields"),
        ("@reboot", "a restart is not a time"),
        ("@fortnightly", "the names are @hourly, @daily"),
        ("H * * * *", "H (a hash of a name) is not a time"),
        ("H(0-29)/10 * * * *", "H (a hash of a name) is not a time"),
        ("0 R * * *", "R is random and would differ between replicas"),
        ("R(0-9) * * * *", "R is random and would differ between replicas"),
        ("60 * * * *", "the minute 60 is not from 0 to 59"),
        ("* 24 * * *", "the hour 24 is not from 0 to 23"),
        ("* * 0 * *", "the day of the month 0 is not from 1 to 31"),
        ("* * 32 * *", "the day of the month 32 is not from 1 to 31"),
        ("* * * 13 *", "the month 13 is not from 1 to 12"),
        ("* * * 0 *", "the month 0 is not from 1 to 12"),
        ("* * * * 8", "the day of the week 8 is not from 0 to 7"),
        ("-1 * * * *", "'-1' is no minute"),
        ("*/0 * * * *", "the step 0 of the minute is not from 1 to 60"),
        ("*/90 * * * *", "the step 90 of the minute is not from 1 to 60"),
        ("0 */25 * * *", "the step 25 of the hour is not from 1 to 24"),
        ("50-10 * * * *", "the minute 50-10 runs backwards"),
        ("0 22-6 * * *", "the hour 22-6 runs backwards"),
        ("*-5 * * * *", "'*-5' is no minute"),
        ("1,,2 * * * *", "'' is no minute"),
        ("1.5 * * * *", "'1.5' is no minute"),
        ("five * * * *", "'five' is no minute"),
        ("jan * * * *", "'jan' is no minute"),
        ("* * * foo *", "'foo' is no month"),
        ("? * * * *", "'?' is no minute"),
        ("0 0 31 2 *", "so it never comes"),
        ("0 0 30 2 *", "so it never comes"),
        ("0 0 30,31 feb *", "so it never comes"),
        ("0 0 31 4,6,9,11 *", "so it never comes"),
        ("0 0 31 2 */2", "so it never comes"),
        ("0 0 15W * *", "W (nearest weekday) is not supported"),
        ("0 0 LW * *", "W (nearest weekday) is not supported"),
        ("0 0 L,15 * *", "'l' is no day of the month"),
        ("0 0 L * 1", "L cannot be combined with a day of the week"),
        ("0 0 * * 5L", "L is supported only as the whole day of the month"),
        ("0 0 * * fri#6", "# is supported only as one weekday and 1 to 5"),
        ("0 0 * * 1#1,2#1", "# is supported only as one weekday and 1 to 5"),
        ("0 0 1 * fri#2", "# cannot be combined with a day of the month"),
        ("0 0 * * *\n", "it holds the character U+000A"),
        ("0 0 * * *\x00", "it holds the character U+0000"),
        ("0\u00a00 * * *", "it holds the character U+00A0"),
        ("\u0663 * * * *", "it holds the character U+0663"),
        ("0,0" * 80 + " * * * *", "it is longer than 200 characters"),
        (None, "it is not text"),
    ],
)
def test_an_expression_that_cannot_be_kept_is_refused_with_the_reason(
    expression: str, reason: str
) -> None:
    with pytest.raises(CadenceError) as refusal:
        Cron(expression)

    assert reason in str(refusal.value)


def test_a_refusal_names_the_thing_and_the_value_in_one_short_line() -> None:
    with pytest.raises(CadenceError) as refusal:
        Cron("61 * * * *" + " *" * 90)

    assert str(refusal.value).startswith("The cron expression '61 * * * * *")
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 200
    assert isinstance(refusal.value, ValueError)
    assert isinstance(refusal.value, EngineroomError)


@pytest.mark.parametrize(
    ("zone", "hint"),
    [
        ("Europe/Berlim", "did you mean Europe/Berlin?"),
        ("", "write it as in Europe/Berlin"),
        ("+02:00", "is not an IANA time zone"),
        ("../../etc/passwd", "is not an IANA time zone"),
        ("Europe/Berlin\x00", "is not an IANA time zone"),
        (None, "is not an IANA time zone"),
    ],
)
def test_a_zone_that_is_not_in_the_iana_database_is_refused(zone: str, hint: str) -> None:
    with pytest.raises(CadenceError, match="time zone") as refusal:
        Cron("* * * * *", zone=zone)

    assert hint in str(refusal.value)


@pytest.mark.parametrize(
    ("expression", "same"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@ANNUALLY", "0 0 1 1 *"),
        ("  5\t4 * *   MON-Fri ", "5 4 * * 1-5"),
        ("0 0 * Jan,DEC sun", "0 0 * 1,12 0"),
        ("0 0 * * 7", "0 0 * * 0"),
        ("0 0 * * sat-sun", "0 0 * * 6,0"),
        ("0 0 * * 5-7", "0 0 * * 5,6,0"),
        ("0 0 * * sun-tue", "0 0 * * 0,1,2"),
        ("0 0 * * 0-7", "0 0 * * *"),
        ("5/15 * * * *", "5,20,35,50 * * * *"),
        ("59/15 * * * *", "59 * * * *"),
        ("5-5 * * * *", "5 * * * *"),
        ("007 * * * *", "7 * * * *"),
        ("0 0 ? * 1", "0 0 * * 1"),
        ("0 0 1 * ?", "0 0 1 * *"),
        ("0 0 1-31 * 1", "0 0 * * *"),
        ("0 0 31 2 1", "0 0 * 2 1"),
    ],
)
def test_two_spellings_of_one_schedule_have_the_same_slots(expression: str, same: str) -> None:
    slots = list(Cron(expression).slots_between(NOON, NOON + dt.timedelta(days=800), limit=200))

    assert slots == list(Cron(same).slots_between(NOON, NOON + dt.timedelta(days=800), limit=200))
    assert slots


@pytest.mark.parametrize(
    ("expression", "dates"),
    [
        ("0 0 13 * 5", ["2026-01-16", "2026-01-23", "2026-01-30", "2026-02-06", "2026-02-13"]),
        ("0 0 */10 * 1", ["2026-05-11", "2026-06-01", "2026-08-31", "2026-09-21", "2026-12-21"]),
        ("0 0 29 2 *", ["2028-02-29", "2032-02-29", "2036-02-29", "2040-02-29", "2044-02-29"]),
        ("0 0 L * *", ["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31"]),
        ("0 0 * * fri#5", ["2026-01-30", "2026-05-29", "2026-07-31", "2026-10-30", "2027-01-29"]),
        ("0 0 L 2 *", ["2026-02-28", "2027-02-28", "2028-02-29", "2029-02-28", "2030-02-28"]),
    ],
)
def test_days_follow_the_rules_of_cron(expression: str, dates: list[str]) -> None:
    slots = Cron(expression).slots_between(NOON, NOON + dt.timedelta(days=9000), limit=5)

    assert [slot.date().isoformat() for slot in slots] == dates


def test_a_leap_day_on_a_sunday_is_found_across_a_century_without_one() -> None:
    cron = Cron("0 0 29 2 */7")

    after_2088 = cron.next_after(dt.datetime(2088, 3, 1, tzinfo=dt.UTC))

    assert after_2088.date() == dt.date(2128, 2, 29)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("30 2 * * *", "every day at 02:30 Europe/Berlin"),
        ("@daily", "every day at 00:00 Europe/Berlin"),
        ("0 6,18 * * *", "every day at 06:00 and 18:00 Europe/Berlin"),
        ("* * * * *", "every minute"),
        ("*/15 * * * *", "every 15 minutes"),
        ("0 * * * *", "every hour"),
        ("5 * * * *", "every hour at minute 5"),
        ("0 9 * * mon-fri", "Monday to Friday at 09:00 Europe/Berlin"),
        ("0 9 * * 1,3", "every Monday and Wednesday at 09:00 Europe/Berlin"),
        ("0 9 * * 7", "every Sunday at 09:00 Europe/Berlin"),
        ("0 9 * * fri#2", "the second Friday of every month at 09:00 Europe/Berlin"),
        ("0 9 1 * *", "day 1 of every month at 09:00 Europe/Berlin"),
        ("0 9 L * *", "the last day of every month at 09:00 Europe/Berlin"),
        ("0 0 24 12 *", "every 24 December at 00:00 Europe/Berlin"),
        ("0 */2 * * *", "every 2 hours from 00:00 Europe/Berlin"),
        ("*/7 * * * *", "*/7 * * * * Europe/Berlin"),
        ("0 0 13 * 5", "0 0 13 * 5 Europe/Berlin"),
    ],
)
def test_a_schedule_explains_itself(expression: str, words: str) -> None:
    assert Cron(expression, zone="Europe/Berlin").explain() == words


@pytest.mark.parametrize("expression", ["@hourly", "*/15 3 1-7 * 1", "5 4 * * sun"])
def test_an_explanation_never_fails(expression: str) -> None:
    assert Cron(expression).explain()


def test_schedules_are_values() -> None:
    assert Cron("0 0  * * *") == Cron("0 0 * * *")
    assert Cron("0 0 * * *", zone="Europe/Berlin") != Cron("0 0 * * *")
    assert hash(Every(seconds=60)) == hash(Every(ms=60000))


def test_a_slot_is_an_instant_in_utc_whatever_the_zone_of_the_question() -> None:
    cron = Cron("0 9 * * *", zone="Asia/Kathmandu")
    tokyo = NOON.astimezone(dt.timezone(dt.timedelta(hours=9)))

    assert cron.next_after(tokyo) == cron.next_after(NOON)
    assert cron.next_after(tokyo).isoformat() == "2026-01-16T03:15:00+00:00"


@pytest.mark.parametrize("cadence", [Cron("* * * * *"), Every(seconds=1)])
def test_a_time_without_a_zone_is_refused(cadence: Cron | Every) -> None:
    with pytest.raises(CadenceError, match="it has no time zone"):
        cadence.next_after(NOON.replace(tzinfo=None))


def test_an_interval_is_aligned_so_that_all_replicas_agree() -> None:
    every = Every(seconds=300)

    assert every.next_after(NOON) == NOON + dt.timedelta(minutes=5)
    assert every.next_after(NOON + dt.timedelta(seconds=1.5)) == NOON + dt.timedelta(minutes=5)
    assert every.latest_between(NOON, NOON + dt.timedelta(days=365)) == (
        NOON + dt.timedelta(days=365),
        365 * 288,
    )


@pytest.mark.parametrize(
    ("ms", "seconds"),
    [
        (0, None), (-5, None), (True, None), (1.5, None), ("60", None), (10**12, None),
        (0, 0), (0, -1), (0, 0.0001), (0, float("nan")), (0, float("inf")), (0, "60"), (5, 5),
    ],
)  # fmt: skip
def test_what_is_no_interval_is_refused(ms: int, seconds: float | None) -> None:
    with pytest.raises(CadenceError, match="interval"):
        Every(ms=ms, seconds=seconds)


@pytest.mark.parametrize(
    ("every", "words"),
    [
        (Every(seconds=30), "every 30 seconds"),
        (Every(ms=250), "every 250 ms"),
        (Every(seconds=0.5), "every 500 ms"),
        (Every(seconds=60), "every minute"),
        (Every(seconds=7200), "every 2 hours"),
        (Every(seconds=86400), "every day"),
    ],
)
def test_an_interval_explains_itself(every: Every, words: str) -> None:
    assert every.explain() == words


def test_a_manual_job_is_never_due() -> None:
    manual: Cron | Every | Manual = Manual()

    assert manual.next_after(NOON) is None
    assert list(manual.slots_between(NOON, NOON + dt.timedelta(days=1))) == []
    assert manual.latest_between(NOON, NOON + dt.timedelta(days=1)) == (None, 0)


@pytest.mark.parametrize(
    ("cadence", "seconds"),
    [
        (Cron("* * * * *"), 60),
        (Cron("*/15 * * * *"), 450),
        (Cron("0 * * * *"), 900),
        (Cron("0 0 * * *"), 900),
        (Every(ms=10), 60),
        (Every(seconds=600), 300),
        (Manual(), 900),
    ],
)
def test_grace_is_half_the_period_from_a_minute_to_a_quarter_hour(
    cadence: Cron | Every | Manual, seconds: int
) -> None:
    assert grace(cadence, NOON) == dt.timedelta(seconds=seconds)
