"""The number of days: what is refused, and what the database refuses besides."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from hypothesis import given
from hypothesis import strategies as st

from jobs.pruning import targets
from retention.days import days_words, parse_days
from retention.errors import DaysError
from retention.models import TargetConfig

REFUSED = ["-1", "3651", "1.5", "abc", "1e3", "+7", "\u0667", "7d", "0x10", "99999", "1_0", "1,000"]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_whole_number_in_the_range_is_refused_with_the_range(text):
    with pytest.raises(DaysError, match="from 0 to 3650") as refused:
        parse_days(text)

    assert repr(text) in str(refused.value)


@pytest.mark.parametrize(
    ("text", "days"), [("", None), ("  ", None), ("0", 0), (" 7 ", 7), ("3650", 3650)]
)
def test_empty_keeps_for_ever_and_plain_digits_are_days(text, days):
    assert parse_days(text) == days


@given(st.text(max_size=8))
def test_nothing_is_coerced_whatever_is_written(text):
    try:
        days = parse_days(text)
    except DaysError:
        return
    assert text.strip() == ("" if days is None else text.strip())
    assert days is None or (str(days) == text.strip().lstrip("0") or days == 0)
    assert days is None or 0 <= days <= 3650


@pytest.mark.django_db
@pytest.mark.parametrize("days", [-1, 3651, 32767])
def test_the_database_refuses_days_out_of_the_range(configure, days):
    with pytest.raises(IntegrityError, match="retention_targets_days_range"), transaction.atomic():
        TargetConfig.objects.filter(pk="jobs.alerts").update(days=days)


@pytest.mark.django_db
def test_migrate_writes_a_row_per_declared_target_without_days_and_keeps_those_there(configure):
    configure(jobs_alerts=30)
    TargetConfig.objects.exclude(pk="jobs.alerts").delete()

    call_command("migrate", verbosity=0)

    days = dict(TargetConfig.objects.values_list("name", "days"))
    assert days.pop("jobs.alerts") == 30
    assert set(days) == {target.name for target in targets} - {"jobs.alerts"}
    assert set(days.values()) == {None}
    assert TargetConfig.objects.filter(enabled=True).count() == len(targets)


def test_days_are_said_in_words():
    assert [days_words(days) for days in (None, 0, 1, 3650)] == [
        "for ever",
        "until the next sweep",
        "1 day",
        "3,650 days",
    ]
