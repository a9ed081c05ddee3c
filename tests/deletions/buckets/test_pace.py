"""The rate and the estimate, the phases, the settings."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deletions import conf
from deletions.buckets.pace import pace_of
from deletions.buckets.policy import bucket_policy
from deletions.buckets.reads import phases_of
from jobs.errors import SettingError

START = dt.datetime(2026, 12, 2, 2, tzinfo=dt.UTC)


def after(seconds):
    return START + dt.timedelta(seconds=seconds)


def test_the_rate_is_of_this_claim_alone_and_the_estimate_follows_from_it():
    pace = pace_of(deleted=6_000, deleted_before=2_000, total=20_000, since=START, until=after(8))

    assert (pace.objects_per_s, pace.seconds_left) == (500, 28)


@pytest.mark.parametrize(
    "values",
    [
        {"deleted": 0, "until": after(8)},
        {"deleted": 100, "until": after(0.1)},
        {"deleted": 100, "until": None},
        {"deleted": 100, "since": None},
    ],
    ids=["nothing gone", "too soon", "no progress", "not begun"],
)
def test_nothing_is_said_before_anything_is_known(values):
    arguments = {"deleted_before": 0, "total": 200, "since": START, "until": after(5), **values}

    pace = pace_of(**arguments)

    assert (pace.objects_per_s, pace.seconds_left) == (None, None)


@given(
    deleted=st.integers(1, 10**12),
    more=st.integers(0, 10**12),
    seconds=st.floats(1, 10**6),
)
def test_the_estimate_is_never_negative_and_nothing_when_all_is_gone(deleted, more, seconds):
    pace = pace_of(
        deleted=deleted,
        deleted_before=0,
        total=deleted + more,
        since=START,
        until=after(seconds),
    )

    assert pace.objects_per_s > 0
    assert pace.seconds_left >= 0
    assert (pace.seconds_left == 0) == (more == 0)


def test_phases_before_the_current_one_are_done_and_a_prefix_has_no_last_one():
    whole = phases_of("uploads", status="processing", has_prefix=False)
    part = phases_of("verify", status="done", has_prefix=True)
    halted = phases_of("versions", status="failed", has_prefix=True)

    assert [(phase.name, phase.state) for phase in whole] == [
        ("objects", "done"),
        ("versions", "done"),
        ("uploads", "current"),
        ("verify", "todo"),
        ("bucket", "todo"),
    ]
    assert {phase.state for phase in part} == {"done"}
    assert len(part) == 4
    assert [phase.state for phase in halted] == ["done", "halted", "todo", "todo"]


def test_the_policy_follows_the_settings(settings):
    settings.BUCKET_DELETION_CONCURRENCY = 3
    settings.BUCKET_DELETION_LEASE_MS = 5000
    settings.BUCKET_DELETION_MAX_ATTEMPTS = 2

    policy = bucket_policy()

    assert (policy.most_in_work, policy.handlers, policy.batch) == (3, 3, 3)
    assert (policy.expiry.ms, policy.max_attempts) == (5000, 2)


@pytest.mark.parametrize(
    ("setting", "lowest", "highest", "default"),
    [
        (conf.BUCKET_POLL_MS, 100, 3_600_000, 10_000),
        (conf.BUCKET_CONCURRENCY, 1, 32, 2),
        (conf.BUCKET_LEASE_MS, 3000, 3_600_000, 60_000),
        (conf.BUCKET_MAX_ATTEMPTS, 1, 50, 8),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_each_setting_has_its_range(setting, lowest, highest, default):
    assert setting in conf.SETTINGS
    assert setting.default == default
    assert (setting.parse(str(lowest)), setting.parse(str(highest))) == (lowest, highest)
    for text in (str(lowest - 1), str(highest + 1), "many", ""):
        with pytest.raises(SettingError):
            setting.parse(text)
