"""What a user's own tests are given."""

from __future__ import annotations

import datetime as dt

import pytest

from jobs.claims import claim_rows
from jobs.models import JobRun
from jobs.testing import database_clock, drain, run_once
from tests.testapp.jobs import parcel_policy
from tests.testapp.models import Parcel

NOON = dt.datetime(2026, 6, 1, 12, tzinfo=dt.UTC)


@pytest.mark.django_db(transaction=True)
def test_drain_works_on_a_queue_until_nothing_is_due():
    Parcel.objects.bulk_create([Parcel(address="a") for _ in range(7)])

    assert drain(Parcel) == 7

    assert set(Parcel.objects.values_list("status", flat=True)) == {"done"}
    assert drain("testapp.parcels") == 0


@pytest.mark.django_db(transaction=True)
def test_run_once_returns_the_row_of_the_ledger():
    run = run_once("testapp.stocktaking")

    assert (run.status, run.output) == ("succeeded", {"shelves": {"counted": 3}})
    assert run.stdout == "counted\n"


@pytest.mark.django_db(transaction=True)
def test_a_failure_is_in_the_row_and_not_raised(settings):
    settings.STOCKTAKING = "fail"

    run = run_once("testapp.stocktaking")

    assert run.status == "failed"
    assert run.error.startswith("ValueError: nothing is where it should be")


@pytest.mark.django_db(transaction=True)
def test_a_pass_that_found_nothing_has_no_row():
    assert run_once("testapp.parcels") is None
    assert JobRun.objects.count() == 0


@pytest.mark.django_db
def test_the_clock_of_the_test_decides_what_is_due():
    Parcel.objects.create(address="a", next_retry_at=NOON)

    with database_clock(NOON - dt.timedelta(seconds=1)) as clock:
        assert claim_rows(parcel_policy()) is None
        clock.advance(seconds=1)
        claim = claim_rows(parcel_policy())

    assert claim.rows[0].claimed_at == NOON


def test_a_clock_without_a_zone_is_refused():
    with (
        pytest.raises(ValueError, match="no time zone"),
        database_clock(dt.datetime(2026, 1, 1)),  # noqa: DTZ001 (what is refused)
    ):
        pass
