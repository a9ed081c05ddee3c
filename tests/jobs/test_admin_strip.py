"""The strip of a job's last runs."""

from __future__ import annotations

import datetime as dt
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.admin.job_words import HEALTH_STATES
from jobs.admin.strip import GROUND, HIGHEST, LOWEST, WIDTH, bar_height, percentile_95, strip
from jobs.models.run import RunStatus
from jobs.reads.job_health import Health
from jobs.reads.job_history import StripRun

NOON = dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)
SVG = "{http://www.w3.org/2000/svg}"


def run_of(number: int, status: str = "succeeded", **options) -> StripRun:
    fields = {
        "trigger": "schedule", "seconds": 2.0, "scheduled_for": None, "started_at": NOON,
        "finished_at": NOON, "is_manual": False, "count": 1, "passes": 1, "admin_url": "",
        **options,
    }  # fmt: skip
    return StripRun(id=number, status=status, **fields)


def drawn(*runs: StripRun) -> ET.Element:
    return ET.fromstring(strip(runs, now=NOON + dt.timedelta(minutes=3)))


def shapes(group: ET.Element) -> list[str]:
    return [child.tag for child in group if child.tag != "title"]


def test_the_newest_run_is_at_the_right_end():
    svg = drawn(run_of(3), run_of(2), run_of(1))

    places = [int(group.find("rect").attrib["x"]) for group in svg.findall("g")]
    assert places == sorted(places)
    assert places[-1] + 6 == WIDTH
    assert "run 3 succeeded" in svg.findall("g")[-1].findtext("title")


def test_only_twenty_runs_are_drawn():
    assert len(drawn(*(run_of(number) for number in range(50, 0, -1))).findall("g")) == 20


@pytest.mark.parametrize("status", list(RunStatus))
def test_every_status_has_a_class_and_words(status):
    (group,) = drawn(run_of(1, status)).findall("g")

    assert group.attrib == {"class": f"console-run-{status}"}
    assert f"run 1 {status}" in group.findtext("title")


def test_failed_is_told_from_succeeded_by_its_form():
    assert shapes(drawn(run_of(1)).find("g")) == ["rect"]
    assert shapes(drawn(run_of(1, "failed")).find("g")) == ["rect", "rect"]
    assert shapes(drawn(run_of(1, "lost")).find("g")) == ["rect", "rect"]


def test_a_run_by_hand_has_a_mark_and_a_missed_slot_is_a_gap():
    by_hand = drawn(run_of(1, is_manual=True))
    missed = drawn(run_of(1, "missed", seconds=None, started_at=None))

    assert shapes(by_hand.find("g")) == ["rect", "circle"]
    assert "by hand" in by_hand.findtext("g/title")
    assert missed.find("g/rect").attrib["class"] == "console-gap"


def test_the_whole_strip_has_one_line_of_words():
    svg = drawn(run_of(3, "failed"), run_of(2, is_manual=True), run_of(1))

    assert svg.attrib["role"] == "img"
    assert svg.attrib["aria-label"] == (
        "The last 3 runs: 1 failed, 2 succeeded, 1 by hand; the newest failed"
    )


def test_a_bar_says_what_it_stands_for():
    assert drawn(run_of(7, "failed", seconds=0.4)).findtext("g/title") == (
        "run 7 failed in 0.4 s · 12:00:00 UTC · 3 min ago"
    )
    assert drawn(run_of(7, "missed", count=9)).findtext("g/title").startswith("9 slots missed")


def test_without_runs_nothing_is_drawn():
    assert strip((), now=NOON) == ""


@given(st.lists(st.floats(min_value=0, max_value=1e6), min_size=1, max_size=20))
def test_heights_follow_the_duration_up_to_the_95th_percentile(seconds):
    usual = percentile_95(seconds)
    heights = [bar_height(value, usual) for value in sorted(seconds)]

    assert usual in seconds
    assert heights == sorted(heights)
    assert all(LOWEST <= height <= HIGHEST < GROUND for height in heights)


def test_every_health_has_a_shape_and_a_word():
    assert set(HEALTH_STATES) == set(Health)
    assert all(state.shape and state.word for state in HEALTH_STATES.values())
