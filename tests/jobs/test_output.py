"""Tables, text, options and actors of commands."""

from __future__ import annotations

import datetime as dt
import json
import os
from argparse import ArgumentTypeError
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.output.actors import command_actor, login_name
from jobs.output.encoding import as_json
from jobs.output.errors import UnknownUserError
from jobs.output.options import duration, instant_ahead, moment, page_limit, reach_back, row_id
from jobs.output.run_log import news_of
from jobs.output.tables import Column, table_lines
from jobs.output.text import cut, display_width, one_line, plain
from jobs.output.waiting import Progress, look_at
from jobs.reads.deadletters import reason_of, top_reasons
from jobs.testing import database_clock
from tests.factories import JobRunFactory, UserFactory, WorkerFactory

NOW = dt.datetime(2026, 12, 1, 12, tzinfo=dt.UTC)
COLUMNS = (
    Column(title="run"),
    Column(title="error", shrinks=True),
    Column(title="page", optional=True),
)
ROW = (48121, "ValueError: the address does not exist", "http://example.com/48121/")


def test_a_table_has_upper_case_headers_aligned_columns_and_no_box_lines() -> None:
    lines = table_lines(COLUMNS, [ROW, (7, "", "http://example.com/7/")])

    assert lines == [
        "RUN    ERROR                                   PAGE",
        "48121  ValueError: the address does not exist  http://example.com/48121/",
        "7      -                                       http://example.com/7/",
    ]


def test_a_narrow_terminal_cuts_long_text_before_it_loses_the_address() -> None:
    lines = table_lines(COLUMNS, [ROW], width=56)

    assert lines == [
        "RUN    ERROR                   PAGE",
        "48121  ValueError: the addre…  http://example.com/48121/",
    ]
    assert len(lines[1]) == 56


def test_a_narrower_one_loses_the_address_and_keeps_the_rest() -> None:
    assert table_lines(COLUMNS, [ROW], width=30) == [
        "RUN    ERROR",
        "48121  ValueError: the addres…",
    ]


def test_wide_characters_keep_the_columns_aligned() -> None:
    columns = (Column(title="name"), Column(title="n"))

    assert table_lines(columns, [("日本", 1), ("abcd", 2)]) == ["NAME  N", "日本  1", "abcd  2"]


def test_only_states_are_coloured_and_after_they_were_aligned() -> None:
    columns = (Column(title="state", is_state=True), Column(title="n"))

    lines = table_lines(columns, [("ok", 1)], paint=lambda word, text: f"<{word}|{text}>")

    assert lines == ["STATE  N", "<ok|ok   >  1"]


@given(
    st.lists(st.tuples(st.text(), st.text(), st.text()), max_size=5),
    st.integers(min_value=20, max_value=200),
)
def test_no_line_is_wider_than_the_terminal(rows, width) -> None:
    for line in table_lines(COLUMNS, rows, width=width):
        assert display_width(line) <= width
        assert line == line.rstrip()


def test_text_of_others_cannot_command_a_terminal() -> None:
    assert one_line("a\x1b[2Jb\r\nc\u202ed\x00") == "a\ufffd[2Jb c\ufffdd\ufffd"
    assert plain("one\n\ttwo\x07") == "one\n\ttwo\ufffd"


@given(st.text(), st.integers(min_value=1, max_value=40))
def test_cut_text_fits_and_says_that_it_was_cut(text, width) -> None:
    found = cut(text, width)

    assert display_width(found) <= width
    assert found == text or found.endswith("…")


def test_json_has_times_with_z_on_one_line() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Item:
        id: int
        at: dt.datetime
        text: str

    line = as_json(Item(id=7, at=NOW, text="Straße\n"))

    assert line.isascii()
    assert "\n" not in line
    assert json.loads(line) == {"id": 7, "at": "2026-12-01T12:00:00Z", "text": "Straße\n"}


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("30s", dt.timedelta(seconds=30)),
        ("15m", dt.timedelta(minutes=15)),
        ("24h", dt.timedelta(hours=24)),
        ("7d", dt.timedelta(days=7)),
        ("2w", dt.timedelta(weeks=2)),
    ],
)
def test_a_length_of_time_is_a_number_and_a_unit(text, length) -> None:
    assert duration(text) == length


@pytest.mark.parametrize("text", ["", "24", "h", "0h", "-1h", "1.5h", "24x", "٣h", "9999999w"])
def test_other_lengths_of_time_are_refused(text) -> None:
    with pytest.raises(ArgumentTypeError, match="not a length of time"):
        duration(text)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-12-01T12:00:00Z", NOW),
        ("2026-12-01T13:00:00+01:00", NOW),
        ("2026-12-01 12:00", NOW),
        ("2026-12-01", dt.datetime(2026, 12, 1, tzinfo=dt.UTC)),
    ],
)
def test_an_instant_is_iso_8601_and_utc_without_a_zone(text, instant) -> None:
    assert moment(text) == instant


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "0001-01-01T00:00:00+14:00", "24x"])
def test_other_instants_are_refused(text) -> None:
    with pytest.raises(ArgumentTypeError, match="ISO 8601"):
        moment(text)


@pytest.mark.parametrize("text", ["0", "-1", "1.0", "x", "²", "1" * 19])
def test_an_id_is_a_whole_number_from_one(text) -> None:
    with pytest.raises(ArgumentTypeError, match="not an id"):
        row_id(text)


def test_a_page_has_at_most_two_hundred_items() -> None:
    assert page_limit("200") == 200
    with pytest.raises(ArgumentTypeError, match="1 to 200"):
        page_limit("201")


@pytest.mark.django_db
def test_times_reach_back_and_ahead_from_the_databases_clock() -> None:
    with database_clock(NOW):
        assert reach_back(NOW - dt.timedelta(hours=3)) == dt.timedelta(hours=3)
        assert reach_back(dt.timedelta(hours=1)) == dt.timedelta(hours=1)
        assert reach_back(None) is None
        assert instant_ahead(dt.timedelta(hours=2)) == NOW + dt.timedelta(hours=2)


@pytest.mark.django_db
def test_the_actor_is_a_user_by_name_or_whoever_called() -> None:
    anna = UserFactory(username="anna")

    assert command_actor("anna") == anna
    caller = command_actor(None)
    assert caller.get_username() == f"cli:{login_name()}"
    assert caller.pk == ""


def test_a_caller_whom_the_system_cannot_name_has_a_number(monkeypatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_001)

    assert login_name() == "4000000001"


@pytest.mark.django_db
def test_an_unknown_user_is_refused_with_the_nearest_name() -> None:
    UserFactory(username="johanna")

    with pytest.raises(UnknownUserError, match="did you mean johanna"):
        command_actor("johana")


@pytest.mark.django_db
def test_progress_is_a_bar_on_a_terminal_and_lines_elsewhere() -> None:
    WorkerFactory()
    row = JobRunFactory(running=True, progress_done=3, progress_total=10)
    waiting = JobRunFactory(status="requested", started_at=None, job_id="shop.orders")
    shown: dict[bool, list[str]] = {True: [], False: []}

    for is_terminal, parts in shown.items():
        progress = Progress(write=parts.append, is_terminal=is_terminal)
        for run_id in (waiting.pk, row.pk, row.pk):
            progress.see(look_at(run_id))
        progress.clear()

    assert shown[False] == [f"run {row.pk} running 3 of 10\n"]
    assert shown[True] == [f"\r[{'#' * 9}{' ' * 21}] 3 of 10\x1b[K", "\r\x1b[K"]


def test_what_is_new_of_an_output_is_told_although_its_head_is_cut() -> None:
    assert news_of("one\n", "one\ntwo\n") == "two\n"
    long = "".join(f"line {number}\n" for number in range(1000))
    assert news_of(long, "[… cut …]\n" + long[5000:] + "the end\n") == "the end\n"
    assert news_of("gone", "other") == "other"


def test_failures_of_one_kind_are_one_reason() -> None:
    errors = [
        "SMTPError: 550 no such user anna@example.com\n  File …",
        "SMTPError: 550 no such user ben@example.org",
        "Timeout: after 30 s",
        "",
    ]

    assert reason_of(errors[0]) == "SMTPError: # no such user <address>"
    assert [(reason.text, reason.count) for reason in top_reasons(errors)] == [
        ("SMTPError: # no such user <address>", 2),
        ("", 1),
        ("Timeout: after # s", 1),
    ]
