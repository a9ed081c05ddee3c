"""How the console words times, durations, numbers and summaries."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.admin.search import search_condition
from jobs.admin.tables import table_of
from jobs.models.activity import LogLevel
from jobs.models.run import RunStatus
from jobs.reads.counts import RowCount
from jobs.reads.words import duration_words, relative_words, time_words

NOON = dt.datetime(2026, 11, 30, 12, 0, 0, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0.0 s"),
        (0.004, "< 0.1 s"),
        (0.4, "0.4 s"),
        (7.5, "7.5 s"),
        (9.97, "10 s"),
        (42, "42 s"),
        (59.6, "1 min 00 s"),
        (200, "3 min 20 s"),
        (3599.7, "1 h 00 min"),
        (7500, "2 h 05 min"),
        (86399.8, "1 d 0 h"),
        (270_000, "3 d 3 h"),
        (-2, "0.0 s"),
    ],
)
def test_durations_are_worded(seconds, words):
    assert duration_words(seconds) == words


@given(st.floats(min_value=0, max_value=1e9))
def test_every_duration_has_a_unit_and_no_60th_part(seconds):
    words = duration_words(seconds)

    assert words.split()[-1] in ("s", "min", "h")
    assert "60 s" not in words
    assert "60 min" not in words


@pytest.mark.parametrize(
    ("seconds_before", "words"),
    [
        (0.2, "just now"),
        (4, "4 s ago"),
        (200, "3 min ago"),
        (7300, "2 h ago"),
        (200_000, "2 d ago"),
        (-20, "in 20 s"),
        (-7300, "in 2 h"),
    ],
)
def test_relative_times_are_worded(seconds_before, words):
    assert relative_words(NOON - dt.timedelta(seconds=seconds_before), now=NOON) == words


def test_a_time_is_absolute_in_utc_and_relative():
    berlin = dt.timezone(dt.timedelta(hours=1))

    assert time_words(NOON.astimezone(berlin), now=NOON + dt.timedelta(minutes=3)) == (
        "12:00:00 UTC · 3 min ago"
    )


def test_a_time_of_another_day_has_its_date():
    assert time_words(NOON, now=NOON + dt.timedelta(days=1)) == "2026-11-30 12:00:00 UTC · 1 d ago"


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (RowCount(value=1204), "1,204"),
        (RowCount(value=2_000_000, is_estimate=True), "≈ 2,000,000"),
        (RowCount(value=10_000, is_capped=True), "10,000+"),
    ],
)
def test_counts_say_how_far_they_can_be_trusted(count, words):
    assert str(count) == words


def test_a_summary_of_summaries_is_a_table_with_a_column_per_name():
    table = table_of({"job_runs": {"deleted": 4000, "truncated": False}, "mail": {"error": "x"}})

    assert table is not None
    assert table.columns == ("name", "deleted", "truncated", "error")
    assert table.rows == (("job_runs", "4,000", "no", ""), ("mail", "", "", "x"))


def test_a_summary_of_numbers_is_a_table_of_two_columns():
    table = table_of({"sent": 12, "failed": None, "seconds": 1.25})

    assert table is not None
    assert table.rows == (("sent", "12"), ("failed", "—"), ("seconds", "1.25"))


@pytest.mark.parametrize("value", [None, {}, [], 5, "x", {"a": [1]}, {"a": {}}, {"a": 1, "b": {}}])
def test_what_is_no_table_is_not_drawn_as_one(value):
    assert table_of(value) is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(json_values)
def test_any_summary_is_either_a_table_of_equal_rows_or_none(value):
    table = table_of(value)

    assert table is None or all(len(row) == len(table.columns) for row in table.rows)


@given(st.text(max_size=80))
def test_any_search_term_is_an_exact_condition_or_none(term):
    condition = search_condition(term, {"job": "job_id"})

    assert condition is None or [key for key, _ in condition.children] in (["pk"], ["job_id"])


def test_every_state_of_a_run_and_every_level_has_a_shape_and_a_word():
    from jobs.markup import LEVEL_STATES, RUN_STATES

    for status in RunStatus:
        assert RUN_STATES[status].shape
        assert RUN_STATES[status].word
    assert set(LEVEL_STATES) == set(LogLevel)
