"""Many rows into a queue at once."""

from __future__ import annotations

import pytest
from django.core.exceptions import FieldDoesNotExist
from django.db import IntegrityError, connection, transaction

from jobs import notifier
from jobs.bulk import enqueue_many
from jobs.claims import claim_rows
from jobs.errors import UnlikeRowsError
from tests.testapp.jobs import parcel_policy
from tests.testapp.models import Letter, Parcel

AWKWARD = ("tab\there", "line\nfeed", "back\\slash", "\\N", "", "ünïcode 🙂", "50 %", "'quoted'")


@pytest.fixture
def pokes(monkeypatch):
    """Give the channels that were poked."""
    poked = []
    monkeypatch.setattr(notifier, "poke", lambda channel, **_: poked.append(channel))
    return poked


@pytest.mark.django_db(transaction=True)
def test_rows_are_enqueued_in_order_and_can_be_claimed():
    assert enqueue_many(Parcel, ({"address": text} for text in AWKWARD)) == len(AWKWARD)

    rows = claim_rows(parcel_policy()).rows

    assert tuple(row.address for row in rows) == AWKWARD
    assert {(row.instruction, row.delivered_by, row.attempts) for row in rows} == {
        ("deliver", "", 1)
    }


@pytest.mark.django_db(transaction=True)
def test_the_workers_are_woken_once_and_after_the_commit(pokes):
    with transaction.atomic():
        enqueue_many(Parcel, [{"address": "a"}] * 2_500)
        assert pokes == []

    assert pokes == ["testapp_parcels"]


@pytest.mark.django_db(transaction=True)
def test_a_rollback_leaves_no_row_and_wakes_nobody(pokes):
    with transaction.atomic():
        enqueue_many(Parcel, [{"address": "a"}])
        transaction.set_rollback(True)

    assert (Parcel.objects.count(), pokes) == (0, [])


@pytest.mark.django_db(transaction=True)
def test_no_rows_are_nothing(pokes):
    assert enqueue_many(Parcel, []) == 0
    assert pokes == []


@pytest.mark.django_db(transaction=True)
def test_a_row_that_the_database_refuses_takes_the_others_with_it_and_not_the_transaction():
    with transaction.atomic():
        with pytest.raises(IntegrityError):
            enqueue_many(Letter, [{"weight": 1}, {"weight": None}])
        Letter.objects.create(weight=7)

    assert Letter.objects.get().weight == 7


@pytest.mark.django_db
def test_a_row_unlike_the_first_is_named():
    with pytest.raises(UnlikeRowsError, match="Row 1 has the names address, instruction;"):
        enqueue_many(Parcel, [{"address": "a"}, {"address": "b", "instruction": "fail"}])

    assert Parcel.objects.count() == 0


@pytest.mark.django_db
def test_a_name_that_the_model_does_not_have_is_refused():
    with pytest.raises(FieldDoesNotExist, match="adress"):
        enqueue_many(Parcel, [{"adress": "a"}])

    assert connection.is_usable()
