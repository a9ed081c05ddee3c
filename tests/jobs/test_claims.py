"""Taking rows, and every write that may follow."""

from __future__ import annotations

import logging
import uuid

import pytest
from django.db import connection
from django.db.models import F

from jobs.claims import claim_rows
from jobs.claims.burial import bury_exhausted
from jobs.claims.holdings import suspect_gate
from jobs.errors import LostClaimError
from tests.testapp.jobs import crate_policy, letter_policy, parcel_policy
from tests.testapp.models import Crate, Letter, Parcel

pytestmark = pytest.mark.django_db(transaction=True)


def make_stale(model, *ids, begun=True):
    """Leave rows as a worker leaves them that died an hour ago."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {model._meta.db_table} SET status = 'processing', claimed_by = 'dead:1:aa',"
            " claim_token = gen_random_uuid(), claimed_at = clock_timestamp() - interval '1 hour',"
            " begun_at = CASE WHEN %s THEN clock_timestamp() - interval '1 hour' END,"
            " next_retry_at = NULL WHERE id = ANY(%s)",
            [begun, list(ids)],
        )


def fill(model, count, **fields):
    return model.objects.bulk_create([model(**fields) for _ in range(count)])


def test_a_claim_takes_rows_in_order_and_marks_them():
    parcels = fill(Parcel, 10, address="a")

    claim = claim_rows(parcel_policy(), limit=4)

    assert [row.pk for row in claim.rows] == [parcel.pk for parcel in parcels[:4]]
    row = Parcel.objects.get(pk=claim.rows[0].pk)
    assert (row.status, row.attempts, row.begun_at) == ("processing", 1, None)
    assert row.claim_token == claim.token
    assert row.claimed_at is not None
    assert row.claimed_by.count(":") == 2


def test_five_rows_are_claimed_for_a_limit_of_five_under_stale_statistics():
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO testapp_parcels (address, instruction, delivered_by, status)"
            " SELECT 'a', 'deliver', '', 'done' FROM generate_series(1, 20000)"
        )
        cursor.execute("ANALYZE testapp_parcels")
    fill(Parcel, 50, address="a")

    claim = claim_rows(parcel_policy(), limit=5)

    assert len(claim.rows) == 5
    assert Parcel.objects.filter(status="processing").count() == 5


def test_nothing_due_is_no_claim():
    assert claim_rows(parcel_policy()) is None


def test_rows_that_wait_for_a_later_instant_are_left():
    parcel = Parcel.objects.create(address="a")
    claim = claim_rows(parcel_policy())
    claim.wait(claim.rows[0], delay_ms=60_000)

    assert claim_rows(parcel_policy()) is None
    parcel.refresh_from_db()
    assert (parcel.status, parcel.attempts) == ("pending", 0)


def test_a_failed_row_is_due_again_after_the_backoff_and_keeps_its_error():
    Parcel.objects.create(address="a")
    claim = claim_rows(parcel_policy())

    claim.retry(claim.rows[0], ValueError("postgres://me:secret@db/x"))

    row = Parcel.objects.get()
    assert row.status == "failed"
    assert row.next_retry_at is not None
    assert row.last_error.startswith("ValueError: postgres://me:****@db/x")
    Parcel.objects.update(next_retry_at=F("created_at"))
    assert claim_rows(parcel_policy()).rows[0].attempts == 2


def test_an_attempt_in_the_catch_is_counted_when_the_work_fails():
    Letter.objects.create()
    claim = claim_rows(letter_policy())
    assert claim.rows[0].attempts == 0

    claim.retry(claim.rows[0], "no")

    assert Letter.objects.get().attempts == 1


def test_the_cap_makes_a_dead_letter():
    Letter.objects.create(attempts=2)
    claim = claim_rows(letter_policy())

    claim.retry(claim.rows[0], "no")

    row = Letter.objects.get()
    assert (row.status, row.next_retry_at, row.attempts) == ("failed", None, 3)
    assert claim_rows(letter_policy()) is None


@pytest.mark.parametrize("write", ["complete", "retry", "bury", "release", "wait", "interrupt"])
def test_a_late_write_of_a_lost_claim_changes_nothing_and_warns_once(write, caplog):
    Parcel.objects.create(address="a")
    claim = claim_rows(parcel_policy())
    row = claim.rows[0]
    other = uuid.uuid4()
    Parcel.objects.update(claim_token=other)
    before = Parcel.objects.values().get()
    late = {
        "complete": lambda: claim.complete(row),
        "retry": lambda: claim.retry(row, "late"),
        "bury": lambda: claim.bury(row, "late"),
        "release": lambda: claim.release(row),
        "wait": lambda: claim.wait(row, delay_ms=1),
        "interrupt": lambda: claim.interrupt(row),
    }[write]

    with caplog.at_level(logging.WARNING):
        assert late() == 0
        assert claim.heartbeat() == 0
        assert late() == 0

    assert Parcel.objects.values().get() == before
    assert [r.getMessage() for r in caplog.records] == [
        f"stale_completion_rejected queue=testapp_parcels id={row.pk}"
    ]


def test_a_late_begin_of_a_lost_claim_raises():
    Parcel.objects.create(address="a")
    claim = claim_rows(parcel_policy())
    Parcel.objects.update(claim_token=uuid.uuid4())

    with pytest.raises(LostClaimError):
        claim.begin(claim.rows[0])


def test_the_other_rows_of_a_claim_are_completed_when_one_is_lost():
    parcels = fill(Parcel, 3, address="a")
    claim = claim_rows(parcel_policy())
    Parcel.objects.filter(pk=parcels[1].pk).update(claim_token=uuid.uuid4())

    assert claim.complete() == 2

    states = Parcel.objects.order_by("id").values_list("status", flat=True)
    assert list(states) == ["done", "processing", "done"]


def test_a_stale_row_that_was_not_begun_is_claimed_with_the_others_and_keeps_its_attempt():
    parcels = fill(Parcel, 3, address="a", attempts=5)
    make_stale(Parcel, parcels[0].pk, begun=False)

    claim = claim_rows(parcel_policy())

    assert len(claim.rows) == 3
    row = Parcel.objects.get(pk=parcels[0].pk)
    assert (row.attempts, row.stale_recoveries) == (5, 0)


def test_a_stale_row_whose_work_had_begun_is_claimed_alone_and_one_at_a_time():
    parcels = fill(Parcel, 4, address="a", attempts=1)
    make_stale(Parcel, parcels[1].pk, parcels[2].pk)

    suspect = claim_rows(parcel_policy())
    others = claim_rows(parcel_policy())

    assert [row.pk for row in suspect.rows] == [parcels[1].pk]
    assert suspect.rows[0].stale_recoveries == 1
    assert [row.pk for row in others.rows] == [parcels[0].pk, parcels[3].pk]
    assert claim_rows(parcel_policy()) is None
    suspect.complete()
    assert [row.pk for row in claim_rows(parcel_policy()).rows] == [parcels[2].pk]


def test_one_suspect_at_a_time_holds_over_all_queues_of_a_process():
    parcel = Parcel.objects.create(address="a", attempts=1)
    letter = Letter.objects.create()
    make_stale(Parcel, parcel.pk)
    make_stale(Letter, letter.pk)

    suspect = claim_rows(parcel_policy())

    assert claim_rows(letter_policy()) is None
    suspect.complete()
    assert claim_rows(letter_policy()).rows[0].pk == letter.pk


def test_a_stale_row_at_the_cap_is_taken_by_no_arm_and_becomes_a_dead_letter():
    parcel = Parcel.objects.create(address="a", attempts=5)
    make_stale(Parcel, parcel.pk)

    assert claim_rows(parcel_policy()) is None
    assert bury_exhausted(parcel_policy()) == [parcel.pk]

    parcel.refresh_from_db()
    assert (parcel.status, parcel.next_retry_at) == ("failed", None)
    assert parcel.last_error.startswith("The worker died 5 times while holding this row")
    assert suspect_gate.try_enter()
    suspect_gate.leave()


def test_stale_recoveries_gate_a_queue_that_counts_in_the_catch():
    letter = Letter.objects.create(attempts=0, stale_recoveries=2)
    make_stale(Letter, letter.pk)

    assert claim_rows(letter_policy()) is None
    assert bury_exhausted(letter_policy()) == [letter.pk]

    letter.refresh_from_db()
    assert letter.attempts == 0
    assert letter.last_error.startswith("The worker died 3 times")


def test_a_release_restores_the_attempt():
    fill(Parcel, 3, address="a")
    claim = claim_rows(parcel_policy())

    assert claim.release() == 3

    assert set(Parcel.objects.values_list("status", "attempts", "claim_token")) == {
        ("pending", 0, None)
    }


def test_an_interrupted_row_keeps_its_attempt_five_times():
    Parcel.objects.create(address="a")
    for _ in range(5):
        claim = claim_rows(parcel_policy())
        claim.begin(claim.rows[0])
        claim.interrupt(claim.rows[0])
    row = Parcel.objects.get()
    assert (row.attempts, row.interruptions, row.status) == (0, 5, "pending")

    claim = claim_rows(parcel_policy())
    claim.interrupt(claim.rows[0])

    row.refresh_from_db()
    assert (row.attempts, row.status) == (1, "failed")


def test_a_lease_runs_out_unless_its_heartbeat_moves_it():
    Crate.objects.create()
    claim = claim_rows(crate_policy())
    first = Crate.objects.get().lease_expires_at

    assert claim.heartbeat() == 1
    assert Crate.objects.get().lease_expires_at > first
    Crate.objects.update(lease_expires_at=F("created_at"))
    assert claim_rows(crate_policy()).rows[0].pk == claim.rows[0].pk


def test_the_order_of_the_queue_is_that_of_its_weights():
    for weight in (1, 3, 2):
        Letter.objects.create(weight=weight)

    assert [row.weight for row in claim_rows(letter_policy()).rows] == [3, 2, 1]
