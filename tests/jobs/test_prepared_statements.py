"""Statements that the server keeps planned: claims by them claim as all others do."""

from __future__ import annotations

import uuid

import pytest
from django.db import connection

from jobs.claims import claim_rows
from jobs.statements.prepared import MOST_KEPT
from tests.testapp.jobs import parcel_policy
from tests.testapp.models import Parcel

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def policy():
    return parcel_policy()


def rest_and_claim(policy, *, limit=5):
    """Find the queue empty, then claim what has come; return whether it was all of it."""
    policy.pace.reset()
    assert claim_rows(policy) is None
    parcels = [Parcel.objects.create(address="a") for _ in range(min(limit, 3))]
    claim = claim_rows(policy, limit=limit)
    claim.complete()
    return [row.pk for row in claim.rows] == [parcel.pk for parcel in parcels]


def prepared():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements")
        return cursor.fetchone()[0]


def end_session():
    """Give this thread another session, whatever the last one kept."""
    connection.close()


def test_the_first_claim_after_a_rest_is_kept_planned_and_takes_each_row_once(policy):
    end_session()

    assert rest_and_claim(policy)
    assert rest_and_claim(policy)
    assert prepared() == 1


def test_a_session_that_was_made_to_forget_still_claims(policy):
    rest_and_claim(policy)
    with connection.cursor() as cursor:
        cursor.execute("DISCARD ALL")

    assert rest_and_claim(policy)
    assert rest_and_claim(policy)


def test_a_new_session_still_claims(policy):
    rest_and_claim(policy)
    end_session()

    assert rest_and_claim(policy)


def test_a_table_that_was_changed_meanwhile_is_still_claimed_from(policy):
    rest_and_claim(policy)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE testapp_parcels ALTER address TYPE varchar(1000)")
    try:
        assert rest_and_claim(policy)
        assert rest_and_claim(policy)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE testapp_parcels ALTER address TYPE text")


def test_a_session_keeps_so_many_statements_and_no_more(policy):
    end_session()

    for limit in range(1, MOST_KEPT + 4):
        rest_and_claim(policy, limit=limit)

    assert prepared() == MOST_KEPT


def test_what_was_planned_for_a_small_table_reads_no_big_one_from_end_to_end(policy):
    end_session()
    rest_and_claim(policy)

    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM pg_prepared_statements")
        [name] = cursor.fetchone()
        cursor.execute("SET plan_cache_mode = force_generic_plan")
        cursor.execute(f"EXPLAIN EXECUTE {name}('w', '{uuid.uuid4()}')")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    end_session()

    assert "Index Scan" in plan
    assert "Seq Scan" not in plan


def test_claims_behind_a_pooler_are_not_prepared(policy, monkeypatch):
    end_session()
    monkeypatch.setattr("jobs.statements.prepared._number_told", lambda _: 1)

    assert rest_and_claim(policy)
    assert prepared() == 0
