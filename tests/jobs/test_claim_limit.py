"""A queue whose rows in work are limited over all processes."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from django.db import connection, connections

from jobs.claims import Lease, claim_rows
from jobs.errors import LostClaimError, PolicyError
from jobs.transactions import run_shortly
from tests.conftest import wait_until
from tests.testapp.jobs import crate_policy, parcel_policy
from tests.testapp.models import Crate, Parcel

pytestmark = pytest.mark.django_db(transaction=True)
LIMIT = 2


def limited_policy(**fields):
    return replace(crate_policy(), most_in_work=LIMIT, **fields)


def expire(claim):
    """Let a claim's lease run out."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE testapp_crates SET lease_expires_at = clock_timestamp() - interval '1 second'"
            " WHERE claim_token = %s",
            [claim.token],
        )


def alive():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM testapp_crates"
            " WHERE status = 'processing' AND lease_expires_at > clock_timestamp()"
        )
        return cursor.fetchone()[0]


def test_no_more_rows_are_claimed_than_the_limit_leaves_room_for():
    Crate.objects.bulk_create([Crate() for _ in range(5)])

    first = claim_rows(limited_policy(), limit=1)
    second = claim_rows(limited_policy(), limit=5)
    third = claim_rows(limited_policy(), limit=5)

    assert (len(first.rows), len(second.rows), third) == (1, 1, None)
    first.complete()
    assert len(claim_rows(limited_policy(), limit=5).rows) == 1


def test_claims_that_begin_together_keep_the_limit_between_them():
    Crate.objects.bulk_create([Crate() for _ in range(20)])
    policy = limited_policy()
    together = threading.Barrier(6)
    claims = []

    def take():
        together.wait(20)
        claims.append(claim_rows(policy, limit=1))
        connections.close_all()

    threads = [threading.Thread(target=take) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert len([claim for claim in claims if claim]) == LIMIT
    assert alive() == LIMIT


def test_an_expired_row_leaves_room_for_another():
    Crate.objects.bulk_create([Crate() for _ in range(3)])
    first = claim_rows(limited_policy(), limit=1)
    claim_rows(limited_policy(), limit=1)
    expire(first)

    third = claim_rows(limited_policy(), limit=2)

    assert len(third.rows) == 1
    assert alive() == LIMIT


@pytest.mark.parametrize(
    "write",
    [
        lambda claim, row: claim.heartbeat(),
        lambda claim, row: claim.complete(row),
        lambda claim, row: claim.retry(row, "no"),
        lambda claim, row: claim.release(row),
    ],
    ids=["heartbeat", "complete", "retry", "release"],
)
def test_a_write_under_an_expired_claim_changes_nothing_though_nobody_took_the_row(write, caplog):
    Crate.objects.create()
    claim = claim_rows(limited_policy())
    expire(claim)
    before = list(Crate.objects.values())

    assert write(claim, claim.rows[0]) == 0

    assert list(Crate.objects.values()) == before
    assert [line.message for line in caplog.records] == [
        f"stale_completion_rejected queue=testapp_crates id={claim.rows[0].pk}"
    ]
    assert not claim.is_alive(claim.rows[0])


def test_work_does_not_begin_under_an_expired_claim():
    Crate.objects.create()
    claim = claim_rows(limited_policy())
    expire(claim)

    with pytest.raises(LostClaimError):
        claim.begin(claim.rows[0])


def test_without_a_limit_a_late_outcome_is_kept_while_nobody_took_the_row():
    Crate.objects.create()
    claim = claim_rows(crate_policy())
    expire(claim)

    assert claim.complete() == 1


def test_a_heartbeat_waits_for_a_claim_that_counts_and_then_revives_nothing():
    Crate.objects.create()
    claim = claim_rows(limited_policy())
    other = connections.create_connection("default")
    other.set_autocommit(False)
    with other.cursor() as cursor:  # a claim that has begun to count
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('engineroom testapp_crates', 0))"
        )
    beats = []
    thread = threading.Thread(
        target=lambda: (beats.append(claim.heartbeat()), connections.close_all())
    )
    thread.start()
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    wait_until(lambda: run_shortly("default", waiting) == [[(1,)]])
    expire(claim)

    other.rollback()
    other.close()
    thread.join(20)

    assert beats == [0]
    assert alive() == 0


def test_the_own_clock_tells_an_expired_claim_before_the_database_does():
    Crate.objects.create()
    policy = limited_policy(expiry=Lease(ms=50))
    claim = claim_rows(policy)

    wait_until(lambda: not claim.is_alive(claim.rows[0]))

    assert claim.holds(claim.rows[0])


def test_a_released_row_that_has_set_its_attempts_back_has_none_below_zero():
    Crate.objects.create()
    claim = claim_rows(limited_policy())
    claim.note(claim.rows[0], attempts=0)

    claim.release()

    assert Crate.objects.get().attempts == 0


def test_a_queue_by_a_stale_window_can_be_limited_too():
    Parcel.objects.bulk_create([Parcel(address="a") for _ in range(3)])
    policy = replace(parcel_policy(), most_in_work=1)

    claim = claim_rows(policy)

    assert len(claim.rows) == 1
    assert claim_rows(policy) is None
    assert claim.heartbeat() == 1
    Parcel.objects.filter(pk=claim.rows[0].pk).update(claimed_at="2020-01-01T00:00:00Z")
    assert claim.heartbeat() == 0
    assert len(claim_rows(policy).rows) == 1


def test_a_limit_below_one_is_refused():
    with pytest.raises(PolicyError, match="most_in_work is 1 or more"):
        replace(crate_policy(), most_in_work=0)
