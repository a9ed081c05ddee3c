"""Claims that go on where the last one ended lose no row."""

from __future__ import annotations

import time
import uuid

import pytest
from django.db import connection, connections, transaction

from jobs.claims import claim_rows
from jobs.claims.holdings import holdings
from jobs.claims.pace import LONGEST_SECONDS, SHORTEST_SECONDS, Pace, Watermark
from jobs.claims.taking import complete_and_claim
from jobs.context import RunContext
from jobs.declarations import registry
from jobs.models.run import Trigger
from jobs.workers.queue_pass import work_whole_claims
from tests.testapp.jobs import letter_policy, parcel_policy
from tests.testapp.models import Letter, Parcel

LAST = Watermark(place=(7,))


def fill(model, count, **fields):
    return model.objects.bulk_create([model(**fields) for _ in range(count)])


def go_on_quickly(policy):
    """Let no slow minute of the machine make the next claim look at everything."""
    policy.pace.whole_at = time.monotonic() + 60


def claim_all(policy, limit):
    """Claim until nothing is due; return the ids in the order of their claims."""
    ids = []
    while claim := claim_rows(policy, limit=limit):
        ids += [row.pk for row in claim.rows]
    return ids


@pytest.mark.django_db(transaction=True)
def test_a_row_that_was_committed_late_is_claimed_although_claims_are_past_it():
    policy = parcel_policy()
    parcels = fill(Parcel, 9, address="a")
    Parcel.objects.filter(pk=parcels[1].pk).update(status="done")
    first = claim_rows(policy, limit=3)
    Parcel.objects.filter(pk=parcels[1].pk).update(status="pending")  # as if it came now

    rest = claim_all(policy, 3)

    assert policy.pace.after is None
    claimed = [row.pk for row in first.rows] + rest
    assert sorted(claimed) == [parcel.pk for parcel in parcels]


@pytest.mark.django_db(transaction=True)
def test_a_row_behind_is_claimed_under_a_backlog_at_the_next_look_at_everything():
    policy = parcel_policy()
    parcels = fill(Parcel, 30, address="a")
    first = claim_rows(policy, limit=3)
    go_on_quickly(policy)
    first.release(first.rows[0])
    assert parcels[0].pk not in [row.pk for row in claim_rows(policy, limit=3).rows]

    policy.pace.whole_at = time.monotonic()

    assert claim_rows(policy, limit=3).rows[0].pk == parcels[0].pk


@pytest.mark.django_db(transaction=True)
def test_a_row_given_back_behind_is_claimed_before_the_queue_is_called_empty():
    policy = parcel_policy()
    parcels = fill(Parcel, 6, address="a")
    first = claim_rows(policy, limit=3)
    claim_rows(policy, limit=3)
    first.release(first.rows[1])

    assert claim_all(policy, 3) == [parcels[1].pk]


@pytest.mark.django_db(transaction=True)
def test_a_heavier_row_goes_first_although_claims_are_past_it():
    policy = letter_policy()
    fill(Letter, 9, weight=1)
    claim_rows(policy, limit=3)
    heavy = Letter.objects.create(weight=2)

    assert claim_rows(policy, limit=3).rows[0].pk == heavy.pk


@pytest.mark.django_db(transaction=True)
def test_a_stale_row_is_claimed_before_the_queue_is_called_empty():
    policy = parcel_policy()
    parcels = fill(Parcel, 7, address="a")
    claim_rows(policy, limit=1)
    claim_rows(policy, limit=3)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE testapp_parcels SET claimed_at = clock_timestamp() - interval '1 hour'"
            " WHERE id = %s",
            [parcels[0].pk],
        )

    assert sorted(claim_all(policy, 3)) == [parcels[0].pk, *[row.pk for row in parcels[4:]]]


@pytest.mark.django_db(transaction=True)
def test_two_workers_in_turn_take_every_row_once():
    parcels = fill(Parcel, 40, address="a")
    mine, other = parcel_policy(), parcel_policy()
    taken = []
    while True:
        claims = [
            claim for claim in (claim_rows(mine, limit=3), claim_rows(other, limit=4)) if claim
        ]
        if not claims:
            break
        taken += [row.pk for claim in claims for row in claim.rows[1:]]
        for claim in claims:
            if claim.rows[0].interruptions < 2:
                claim.interrupt(claim.rows[0])
            else:
                taken.append(claim.rows[0].pk)

    assert sorted(taken) == [parcel.pk for parcel in parcels]


@pytest.mark.django_db(transaction=True)
def test_the_completion_of_a_claim_and_the_next_claim_are_one_transaction():
    policy = parcel_policy()
    parcels = fill(Parcel, 2 * policy.batch, address="a")
    first = claim_rows(policy)
    go_on_quickly(policy)

    done, following = complete_and_claim(first)

    assert done == policy.batch
    assert [row.pk for row in following.rows] == [row.pk for row in parcels[policy.batch :]]
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(DISTINCT xmin::text) FROM testapp_parcels")
        assert cursor.fetchone() == (1,)
    assert first not in list(holdings)


@pytest.mark.django_db(transaction=True)
def test_rows_lost_meanwhile_are_not_completed_with_the_next_claim(caplog):
    policy = parcel_policy()
    parcels = fill(Parcel, 2 * policy.batch, address="a")
    first = claim_rows(policy)
    go_on_quickly(policy)
    Parcel.objects.filter(pk=parcels[1].pk).update(claim_token=uuid.uuid4())

    done, following = complete_and_claim(first)

    assert (done, len(following.rows)) == (policy.batch - 1, policy.batch)
    assert Parcel.objects.get(pk=parcels[1].pk).status == "processing"
    assert f"stale_completion_rejected queue=testapp_parcels id={parcels[1].pk}" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_next_claim_that_fails_takes_no_completion_with_it(monkeypatch):
    policy = parcel_policy()
    fill(Parcel, 2 * policy.batch, address="a")
    first = claim_rows(policy)
    go_on_quickly(policy)
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION refuse_claim() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE 'no claims now'; END $$"
        )
        cursor.execute(
            "CREATE TRIGGER refuse BEFORE UPDATE ON testapp_parcels FOR EACH ROW"
            " WHEN (new.status = 'processing') EXECUTE FUNCTION refuse_claim()"
        )
    try:
        done, following = complete_and_claim(first)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION refuse_claim CASCADE")

    assert (done, following) == (policy.batch, None)
    assert Parcel.objects.filter(status="done").count() == policy.batch
    assert len(claim_rows(policy).rows) == policy.batch


@pytest.mark.django_db(transaction=True)
def test_a_stop_gives_back_the_claim_that_came_with_a_completion():
    policy = parcel_policy()
    fill(Parcel, 3 * policy.batch, address="a")
    context = RunContext(declaration=registry.get("testapp.parcels"), trigger=Trigger.SCHEDULE)
    context.on_checkpoint = context.cancelled.set

    work_whole_claims(context, policy, lambda claim: go_on_quickly(policy))

    assert context.counts == {
        "claimed": policy.batch,
        "done": policy.batch,
        "released": policy.batch,
    }
    assert Parcel.objects.filter(status="pending", attempts=0).count() == 2 * policy.batch


@pytest.mark.django_db(transaction=True)
def test_a_claim_and_its_writes_are_read_committed_whatever_the_project_says():
    parcel = Parcel.objects.create(address="a")
    other = connections.create_connection("default")
    connection.set_autocommit(True)
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_isolation = 'serializable'")
    try:
        claim = claim_rows(parcel_policy())
        with transaction.atomic(), other.cursor() as cursor:
            cursor.execute("UPDATE testapp_parcels SET address = 'b' WHERE id = %s", [parcel.pk])
        claim.complete()
    finally:
        other.close()
        with connection.cursor() as cursor:
            cursor.execute("RESET default_transaction_isolation")

    assert Parcel.objects.values_list("status", "address", "attempts").get() == ("done", "b", 1)


@pytest.mark.django_db
def test_claims_and_writes_work_inside_a_transaction_of_the_caller():
    fill(Parcel, 3, address="a")
    claim = claim_rows(parcel_policy())

    claim.complete(claim.rows[0])
    claim.retry(claim.rows[1], "100 % broken: 'quoted', \\ and %s")
    claim.release(claim.rows[2])

    assert list(Parcel.objects.order_by("id").values_list("status", "last_error")) == [
        ("done", ""),
        ("failed", "100 % broken: 'quoted', \\ and %s"),
        ("pending", ""),
    ]


def test_looks_at_everything_take_a_twentieth_of_the_time_at_most():
    pace = Pace()

    pace.whole_look(seconds=0.001, full=True, last=LAST)
    shortest = pace.whole_at - time.monotonic()
    pace.whole_look(seconds=0.2, full=True, last=LAST)
    longer = pace.whole_at - time.monotonic()
    pace.whole_look(seconds=1e6, full=True, last=LAST)
    longest = pace.whole_at - time.monotonic()

    assert shortest <= SHORTEST_SECONDS
    assert 3 < longer <= 4
    assert LONGEST_SECONDS - 1 < longest <= LONGEST_SECONDS


def test_a_look_that_comes_back_short_is_followed_by_one_at_everything():
    pace = Pace()
    pace.whole_look(seconds=0.1, full=True, last=LAST)
    assert pace.is_quick

    pace.quick_look(full=False, last=None)

    assert not pace.is_quick


def test_after_a_rest_the_first_row_waits_for_no_look_at_what_is_stale():
    pace = Pace()
    assert not pace.is_quick
    pace.whole_look(seconds=0.1, full=False, last=None)
    assert pace.is_quick

    pace.quick_look(full=False, last=None)

    assert not pace.is_quick


@pytest.mark.django_db(transaction=True)
def test_a_row_that_turned_stale_during_the_rest_is_claimed_in_the_same_pass():
    policy = parcel_policy()
    fill(Parcel, 1, address="a")
    held = claim_rows(policy)
    assert claim_rows(policy) is None
    fresh = Parcel.objects.create(address="b")
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE testapp_parcels SET claimed_at = clock_timestamp() - interval '1 hour'"
            " WHERE id = %s",
            [held.rows[0].pk],
        )

    assert claim_all(policy, 5) == [fresh.pk, held.rows[0].pk]


def test_a_wake_up_looks_back_only_where_the_queue_says_so_and_when_it_costs_little():
    eager, costly, calm = Pace(looks_back_when_woken=True), Pace(looks_back_when_woken=True), Pace()
    for pace, seconds in ((eager, 0.0), (costly, 60.0), (calm, 0.0)):
        pace.whole_look(seconds=seconds, full=True, last=LAST)

    for pace in (eager, costly, calm):
        pace.woken()

    assert [pace.is_quick for pace in (eager, costly, calm)] == [False, True, True]
