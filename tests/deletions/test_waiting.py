"""Steps that wait."""

from __future__ import annotations

import datetime as dt

from django.utils import timezone

import deletions
from deletions.attempt import WAIT_DAYS
from jobs.testing import database_clock
from tests.deletions.conftest import is_gone, step_of, steps_of
from tests.deletions.shop.models import Call
from tests.deletions.stepping import with_steps
from tests.forms import FULL


def test_a_step_that_waits_for_two_hours_costs_no_attempt(user, work, settings):
    with_steps(settings, "Warehouse")
    start = timezone.now()
    settings.WAREHOUSE_EMPTY_AT = start + dt.timedelta(hours=2)
    deletion = deletions.request(user, requested_by=user)
    # The full form looks as often as a worker does.
    between = dt.timedelta(seconds=61 if FULL else 601)

    with database_clock(start + dt.timedelta(minutes=1)) as clock:
        passes = 0
        while deletion.status != "done" and passes < 130:
            work()
            passes += 1
            deletion.refresh_from_db()
            if deletion.status != "done":
                assert (deletion.status, deletion.attempts) == ("pending", 0)
                assert deletion.next_retry_at == clock.at + dt.timedelta(seconds=60)
                assert steps_of(deletion)["rows"] == "todo"
                clock.set(clock.at + between)

    assert passes > (115 if FULL else 11)
    assert deletion.attempts == 1
    assert Call.objects.filter(step="warehouse").count() == passes
    assert is_gone(user)


def test_waiting_ends_after_seven_days_and_then_costs_attempts(user, work, settings):
    with_steps(settings, "Warehouse")
    start = timezone.now()
    settings.WAREHOUSE_EMPTY_AT = start + dt.timedelta(days=30)
    deletion = deletions.request(user, requested_by=user)

    with database_clock(start + dt.timedelta(minutes=1)) as clock:
        work()
        clock.advance(days=WAIT_DAYS, seconds=1)
        work()

    deletion.refresh_from_db()
    assert (deletion.status, deletion.attempts) == ("failed", 1)
    assert "after waiting for 7 days: 3 parcels left" in step_of(deletion, "warehouse").detail


def test_an_attempt_in_which_a_step_failed_is_a_failed_one_whatever_waits(
    user, work, settings, billing
):
    with_steps(settings, "Warehouse")
    settings.WAREHOUSE_EMPTY_AT = timezone.now() + dt.timedelta(hours=2)
    billing.answer = (500, "")
    deletion = deletions.request(user, requested_by=user)

    work()

    deletion.refresh_from_db()
    assert (deletion.status, deletion.attempts) == ("failed", 1)
