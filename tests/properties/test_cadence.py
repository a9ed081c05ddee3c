"""What holds for every schedule, zone and instant."""

from __future__ import annotations

import datetime as dt
import itertools

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from jobs.cadence import CadenceError, Cron
from tests.forms import form
from tests.jobs import cron_oracle

ZONES = (
    "Europe/Berlin", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "UTC",
    "America/St_Johns", "Africa/Casablanca", "Europe/Dublin", "Antarctica/Troll",
    "Asia/Kathmandu", "Pacific/Apia", "America/Sao_Paulo",
)  # fmt: skip
# Just before changes of the zones above; the last is the date that Apia skipped.
CHANGES = tuple(
    dt.datetime.fromisoformat(f"{instant}+00:00")
    for instant in (
        "2026-03-29T00:00", "2026-10-25T00:00", "2026-03-08T06:00", "2026-11-01T05:00",
        "2026-04-05T02:00", "2026-09-06T03:00", "2026-04-04T14:00", "2026-10-03T15:00",
        "2026-02-15T01:00", "2026-03-22T01:00", "2018-02-18T01:00", "2018-11-04T02:00",
        "2011-12-30T09:00",
    )
)  # fmt: skip


def _field(low: int, high: int) -> st.SearchStrategy[str]:
    value = st.integers(low, high)
    span = st.tuples(value, value).map(lambda pair: f"{min(pair)}-{max(pair)}")
    step = st.integers(1, 7 if high == 7 else high - low + 1)
    stepped = st.tuples(st.one_of(st.just("*"), span), step).map(lambda p: f"{p[0]}/{p[1]}")
    term = st.one_of(value.map(str), span, stepped)
    return st.one_of(st.just("*"), st.lists(term, min_size=1, max_size=3).map(",".join))


days_mostly_any = st.one_of(st.just("*"), st.just("*"), _field(1, 31))
expressions = st.tuples(
    _field(0, 59),
    st.one_of(_field(0, 23), _field(0, 4)),
    days_mostly_any,
    st.one_of(st.just("*"), st.just("*"), _field(1, 12)),
    st.one_of(st.just("*"), st.just("*"), _field(0, 7)),
).map(" ".join)
zones = st.sampled_from(ZONES)
near_changes = st.tuples(
    st.sampled_from(CHANGES), st.integers(-26 * 3600 * 1000, 26 * 3600 * 1000)
).map(lambda pair: pair[0] + dt.timedelta(milliseconds=pair[1]))
anywhere = st.integers(-630_000_000_000, 5_680_000_000_000).map(  # the years 1950 to 2149
    lambda ms: dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=ms)
)
instants = st.one_of(near_changes, anywhere)
spans = st.timedeltas(dt.timedelta(0), dt.timedelta(hours=16))


def _cron(expression: str, zone: str) -> Cron:
    try:
        return Cron(expression, zone=zone)
    except CadenceError as refusal:
        assume("never comes" not in refusal.reason)
        raise


@given(expressions, zones, near_changes, st.timedeltas(dt.timedelta(0), dt.timedelta(hours=12)))
@settings(max_examples=form(short=20, full=80), deadline=None)
def test_slots_near_a_change_are_those_of_a_walk_over_the_real_minutes(
    expression: str, zone: str, after: dt.datetime, span: dt.timedelta
) -> None:
    cron = _cron(expression, zone)

    slots = list(cron.slots_between(after, after + span))

    assert slots == cron_oracle.Walk(zone, after, after + span).slots(expression)


@given(expressions, zones, instants)
@settings(max_examples=form(short=15, full=60), deadline=None)
def test_every_next_slot_is_later_and_on_a_whole_minute(
    expression: str, zone: str, instant: dt.datetime
) -> None:
    cron = _cron(expression, zone)

    slots = [instant]
    for _ in range(8):
        slots.append(cron.next_after(slots[-1]))

    assert all(earlier < later for earlier, later in itertools.pairwise(slots))
    assert all(slot.microsecond == 0 and slot.utcoffset() == dt.timedelta(0) for slot in slots[1:])


@given(expressions, zones, instants, spans, st.floats(0, 1))
@settings(max_examples=form(short=15, full=60), deadline=None)
def test_a_restart_at_any_instant_neither_loses_nor_repeats_a_slot(
    expression: str, zone: str, after: dt.datetime, span: dt.timedelta, share: float
) -> None:
    cron = _cron(expression, zone)
    restart, until = after + span * share, after + span
    whole = list(cron.slots_between(after, until, limit=200))
    assume(len(whole) < 200)

    in_two = [*cron.slots_between(after, restart), *cron.slots_between(restart, until)]

    assert in_two == whole


@given(expressions, zones, instants, spans, st.integers(1, 20))
@settings(max_examples=form(short=15, full=60), deadline=None)
def test_counting_and_looking_back_agree_with_walking_through_the_slots(
    expression: str, zone: str, after: dt.datetime, span: dt.timedelta, limit: int
) -> None:
    cron = _cron(expression, zone)
    until = after + span
    slots = list(cron.slots_between(after, until, limit=200))
    assume(len(slots) < 200)

    assert cron.latest_between(after, until) == (slots[-1] if slots else None, len(slots))
    assert cron.latest_slots(after, until, limit=limit) == tuple(slots[-limit:])


@given(
    st.tuples(st.just("7,37"), st.just("2"), days_mostly_any, st.just("*"), _field(0, 7)).map(
        " ".join
    ),
    zones,
    st.integers(0, 9000).map(lambda days: CHANGES[-1] + dt.timedelta(days=days - 2500)),
    st.integers(1, 400),
)
@settings(max_examples=form(short=15, full=25), deadline=None)
def test_counting_agrees_over_spans_with_several_changes(
    expression: str, zone: str, after: dt.datetime, days: int
) -> None:
    cron = _cron(expression, zone)
    until = after + dt.timedelta(days=days, hours=5)
    slots = list(cron.slots_between(after, until))

    assert cron.latest_between(after, until) == (slots[-1] if slots else None, len(slots))


@given(st.text(max_size=40))
@settings(max_examples=form(short=75, full=300), deadline=None)
def test_any_text_is_either_a_schedule_or_refused_with_a_reason(text: str) -> None:
    try:
        cron = Cron(text)
    except CadenceError as refusal:
        assert refusal.reason  # noqa: PT017 (either outcome is right)
    else:
        assert cron.next_after(CHANGES[0]) > CHANGES[0]


@given(st.text(alphabet="0123456789*/-,#?LWHRsunmofeb @", max_size=24))
@settings(max_examples=form(short=75, full=300), deadline=None)
def test_any_text_of_cron_characters_is_either_a_schedule_or_refused(text: str) -> None:
    try:
        cron = Cron(text)
    except CadenceError as refusal:
        assert refusal.reason  # noqa: PT017 (either outcome is right)
    else:
        assert cron.next_after(CHANGES[0]) > CHANGES[0]
        assert cron.explain()
