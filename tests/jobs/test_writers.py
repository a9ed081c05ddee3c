"""Writes that are sent now and answered later, over a session of their own."""

from __future__ import annotations

import os
import socket

import pytest
from django.db import DataError, OperationalError, connection, transaction

import jobs.writers
from jobs.statements import Template, Variable
from jobs.writers import Writer
from tests.testapp.models import Parcel

pytestmark = pytest.mark.django_db(transaction=True)
ID, ADDRESS = Variable("id"), Variable("address")
MOVE = Template(
    pieces=("UPDATE testapp_parcels SET address = ", " WHERE id = ", "::bigint RETURNING id"),
    variables=(ADDRESS, ID),
)


@pytest.fixture
def parcel():
    return Parcel.objects.create(address="here")


@pytest.fixture
def writer(monkeypatch):
    monkeypatch.setattr("jobs.writers.FEW", 0)
    writer = Writer("default", MOVE)
    yield writer
    writer.close()


def move(writer, row_id, address):
    writer.begin({ID: row_id, ADDRESS: address})
    return writer.answer()


def test_the_caller_goes_on_while_a_write_is_on_its_way(writer, parcel):
    with transaction.atomic(), connection.cursor() as cursor:
        assert writer.begin({ID: parcel.id, ADDRESS: "there"}) is False  # it is in a transaction
        writer.answer()
        cursor.execute("SELECT address FROM testapp_parcels")
        assert cursor.fetchone() == ("there",)

    assert writer.begin({ID: parcel.id, ADDRESS: "elsewhere"}) is True
    Parcel.objects.count()  # not disturbed by what is on its way
    assert writer.answer() == {parcel.id}
    parcel.refresh_from_db()
    assert parcel.address == "elsewhere"


def test_what_a_caller_takes_back_was_not_written(writer, parcel):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        move(writer, parcel.id, "there")
        raise ZeroDivisionError

    parcel.refresh_from_db()
    assert parcel.address == "here"


def test_a_few_writes_open_no_connection(writer, parcel, monkeypatch):
    monkeypatch.setattr("jobs.writers.FEW", 2)

    waited = [writer.begin({ID: parcel.id, ADDRESS: "there"}) for _ in range(2)]

    assert waited == [False, False]
    assert writer.session is None
    assert writer.begin({ID: parcel.id, ADDRESS: "there"}) is True
    assert writer.answer() == {parcel.id}


@pytest.mark.parametrize("few", [0, 2], ids=["beside", "at once"])
def test_a_value_that_the_database_refuses_is_raised_with_the_answer_and_the_next_write_works(
    writer, parcel, monkeypatch, few
):
    monkeypatch.setattr("jobs.writers.FEW", few)
    writer.begin({ID: "no number", ADDRESS: "there"})

    with pytest.raises(DataError, match="no number"):
        writer.answer()

    assert move(writer, parcel.id, "there") == {parcel.id}


def test_quotes_and_backslashes_arrive_as_they_are(writer, parcel):
    move(writer, parcel.id, 'O\'Neil \\ "x" %s')

    parcel.refresh_from_db()
    assert parcel.address == 'O\'Neil \\ "x" %s'


def test_a_session_that_was_cut_fails_one_write_and_the_next_has_another(writer, parcel):
    move(writer, parcel.id, "there")
    with socket.socket(fileno=os.dup(writer.session.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)

    with pytest.raises(OperationalError):
        move(writer, parcel.id, "elsewhere")

    assert move(writer, parcel.id, "elsewhere") == {parcel.id}


def test_a_table_that_changed_meanwhile_fails_no_write(writer, parcel):
    move(writer, parcel.id, "there")
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE testapp_parcels ALTER COLUMN id TYPE integer")
    try:
        assert move(writer, parcel.id, "elsewhere") == {parcel.id}
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE testapp_parcels ALTER COLUMN id TYPE bigint")


def test_nothing_is_prepared_behind_a_pooler(writer, parcel, monkeypatch):
    monkeypatch.setattr(jobs.writers, "is_own_session", lambda connection: False)

    assert move(writer, parcel.id, "there") == {parcel.id}

    with writer.session.cursor() as cursor:
        cursor.execute("SELECT name FROM pg_prepared_statements")
        assert cursor.fetchall() == []
        cursor.execute("SHOW enable_seqscan")  # a session's setting would be another client's
        assert cursor.fetchone() == ("on",)


def test_a_write_may_not_take_longer_than_any_of_the_workers(writer, parcel, settings):
    settings.WORKER_STATEMENT_TIMEOUT_MS = 200
    with transaction.atomic():
        Parcel.objects.select_for_update().get()
        other = Writer("default", MOVE)
        # Not as a part of this transaction, which would have the lock.
        other._send({ID: parcel.id, ADDRESS: "there"})
        with pytest.raises(OperationalError, match="timeout"):
            other._answer({ID: parcel.id, ADDRESS: "there"})
        other.close()


def test_its_session_ends_with_it(writer, parcel):
    move(writer, parcel.id, "there")
    session = writer.session

    writer.close()

    assert session.closed
    assert writer.session is None
