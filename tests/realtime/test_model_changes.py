"""Declared models publish by themselves what is saved, updated and deleted."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F

import realtime
from realtime.errors import DeclarationError, NotDeclaredError
from realtime.models import OutboxEvent
from tests.realtime.connected import connect
from tests.testapp.models import Comment, Crate, Draft, LoudNotice, Note, Notice, Poster, Share

pytestmark = pytest.mark.django_db


def events(**conditions: Any) -> list[tuple[str, Any]]:
    """Return what was published and not yet looked at, in order."""
    rows = OutboxEvent.objects.filter(**conditions).order_by("id")
    found = [(row.event, row.payload) for row in rows]
    rows.delete()
    return found


def audiences() -> list[dict[str, Any]]:
    rows = list(OutboxEvent.objects.order_by("id"))
    OutboxEvent.objects.all().delete()
    return [row.audience for row in rows]


def test_a_save_publishes_the_declared_fields_in_its_own_transaction() -> None:
    note = Note.objects.create(owner="7", title="a", body="secret")
    assert events() == [("insert", {"id": note.pk, "title": "a", "owner": "7"})]

    note.title = "b"
    note.save()
    row = OutboxEvent.objects.get()
    assert (row.topic, row.ordering_key) == ("notes", f"testapp_note:{note.pk}")
    assert row.audience == {"mode": "restricted", "users": ["7"]}
    assert events() == [("update", {"id": note.pk, "title": "b", "owner": "7"})]

    number = note.pk
    note.delete()
    assert events() == [("delete", {"id": number})]


@pytest.mark.django_db(transaction=True)
def test_a_save_without_a_transaction_is_one_with_its_event() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "ALTER TABLE realtime_outbox ADD CONSTRAINT no_boom CHECK (payload->>'text' <> 'boom')"
        )
    try:
        with pytest.raises(IntegrityError, match="no_boom"):
            Notice.objects.create(text="boom")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE realtime_outbox DROP CONSTRAINT no_boom")

    assert not Notice.objects.exists()


def test_a_rolled_back_change_publishes_nothing() -> None:
    with pytest.raises(RuntimeError, match="no"), transaction.atomic():
        Notice.objects.create(text="a")
        raise RuntimeError("no")

    assert events() == []


def test_what_goes_out_is_what_the_database_has() -> None:
    notice = Notice.objects.create(text="a")
    events()

    notice.text = "not saved"
    notice.seen = F("seen") + 1
    notice.save(update_fields=["seen"])

    assert events() == [("update", {"id": notice.pk, "text": "a"})]


def test_a_row_saved_under_a_key_of_its_own_is_an_insert() -> None:
    Notice(pk=12345, text="a").save()
    Notice(pk=12345, text="b").save()

    assert [event for event, _ in events()] == ["insert", "update"]


def test_proxies_and_heirs_publish_as_the_declared_model() -> None:
    loud = LoudNotice.objects.create(text="a")
    poster = Poster.objects.create(text="b", size=3)
    poster.size = 4
    poster.save()
    numbers = loud.pk, poster.pk
    loud.delete()
    poster.delete()

    assert events(topic="notices") == [
        ("insert", {"id": numbers[0], "text": "a"}),
        ("insert", {"id": numbers[1], "text": "b"}),
        ("update", {"id": numbers[1], "text": "b"}),
        ("delete", {"id": numbers[0]}),
        ("delete", {"id": numbers[1]}),
    ]


def test_everyone_and_nobody_are_the_modes_all_and_disabled() -> None:
    for model in (Notice, Draft):
        model.objects.create(text="a").delete()

    assert [audience["mode"] for audience in audiences()] == ["all", "all", "disabled", "disabled"]


def test_a_delete_knows_the_sockets_of_those_who_could_read_the_row() -> None:
    note = Note.objects.create(owner="7", title="a")
    Share.objects.create(note=note, user="8")
    connect("s7", "7", "notes")
    connect("s7-again", "7", "notes", "comments")
    connect("s8", "8", "notes")
    connect("elsewhere", "7", "comments")
    connect("expired", "7", "notes", expired=True)
    connect("other", "9", "notes")
    audiences()

    note.delete()

    (audience,) = audiences()
    assert (audience["mode"], audience["sids"]) == ("restricted", ["s7", "s7-again", "s8"])
    assert audience["readers"] == ["7", "8"]


def test_cascades_and_querysets_publish_each_delete() -> None:
    connect("s7", "7", "notes", "comments")
    notes = [Note.objects.create(owner="7", title=str(n)) for n in range(2)]
    comment = Comment.objects.create(note=notes[0], text="hm")
    numbers = [note.pk for note in notes]
    events()

    Note.objects.filter(pk__in=numbers).delete()

    rows = list(OutboxEvent.objects.order_by("id"))
    assert {(row.topic, row.payload["id"]) for row in rows} == {
        ("notes", numbers[0]), ("notes", numbers[1]), ("comments", comment.pk),
    }  # fmt: skip
    # The rule of a comment asks its note, which is still there.
    assert all(row.audience["sids"] == ["s7"] for row in rows)


def test_who_loses_sight_of_a_row_is_told_to_let_go_and_no_more() -> None:
    note = Note.objects.create(owner="7", title="a")
    connect("s7", "7", "notes")
    connect("s8", "8", "notes")
    events()

    note.owner, note.title = "8", "now a secret"
    note.save()

    leave, update = OutboxEvent.objects.order_by("id")
    assert (leave.event, leave.payload, leave.audience["sids"]) == (
        "leave",
        {"id": note.pk},
        ["s7"],
    )
    assert leave.ordering_key == update.ordering_key
    assert (update.event, update.audience["users"]) == ("update", ["8"])


def test_a_rule_that_raises_admits_nobody_and_stops_no_change(caplog: Any) -> None:
    note = Note.objects.create(owner="7", title="a")
    connect("s7", "7", "notes")
    audiences()

    note.title = "unreadable"
    note.save()
    leave, update = audiences()
    assert leave["sids"] == ["s7"]
    assert update["users"] == []

    note.delete()
    assert [audience["sids"] for audience in audiences()] == [[]]
    assert "read_rule_failed model=testapp.Note" in caplog.text


def test_a_row_of_more_than_a_megabyte_is_saved_and_to_be_read_by_who_may_see_it() -> None:
    note = Note.objects.create(owner="7", title="x" * 1_000_001)

    row = OutboxEvent.objects.get()
    assert (row.event, row.payload, row.audience["users"]) == ("resync", {}, ["7"])
    assert row.ordering_key == f"testapp_note:{note.pk}"


def test_changing_publishes_what_the_rule_sees_elsewhere() -> None:
    note = Note.objects.create(owner="7", title="a")
    share = Share.objects.create(note=note, user="8")
    connect("s8", "8", "notes")
    events()

    with realtime.changing(note):
        share.delete()

    leave, update = OutboxEvent.objects.order_by("id")
    assert (leave.event, leave.audience["sids"]) == ("leave", ["s8"])
    assert (update.event, update.audience["users"]) == ("update", ["7"])


def test_bulk_operations_publish_each_row() -> None:
    connect("s7", "7", "notes")
    created = realtime.bulk_create(Note, [Note(owner="7", title=str(n)) for n in range(3)])
    assert [event for event, _ in events()] == ["insert"] * 3

    assert realtime.bulk_update(Note.objects.filter(title__lt="2"), title="x") == 2
    numbers = [note.pk for note in created]
    assert events() == [
        ("update", {"id": number, "title": "x", "owner": "7"}) for number in numbers[:2]
    ]

    realtime.bulk_delete(Note.objects.filter(owner="7"))
    rows = list(OutboxEvent.objects.order_by("id"))
    assert [(row.event, row.payload["id"]) for row in rows] == [("delete", n) for n in numbers]
    assert all(row.audience["sids"] == ["s7"] for row in rows)
    assert not Note.objects.exists()


def test_more_than_a_thousand_rows_are_one_resync_of_the_topic() -> None:
    realtime.bulk_create(Notice, [Notice(text="a") for _ in range(1001)])
    assert events() == [("resync", {})]

    realtime.bulk_update(Notice.objects.all(), text="b")
    assert events() == [("resync", {})]
    assert Notice.objects.filter(text="b").count() == 1001

    realtime.bulk_delete(Notice.objects.all())
    assert events() == [("resync", {})]
    assert not Notice.objects.exists()


def test_a_captured_audience_can_be_published_by_hand() -> None:
    connect("s7", "7", "notes")

    audience = realtime.capture("notes", ["7", "8"])
    realtime.publish("notes", event="delete", payload={"id": 1}, audience=audience)

    assert audiences()[0]["sids"] == ["s7"]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"model": Note}, "it is declared already"),
        ({"topic": "notes"}, "belongs to testapp.Note already"),
        ({"topic": "a\n"}, "is not printable text"),
        ({"fields": ("nonsense",)}, "'nonsense' is not one of its fields"),
        ({"model": Poster}, "testapp.Notice is declared, whose rows are its rows too"),
        ({"readers": None}, "is not a function, EVERYONE or NOBODY"),
        ({"model": LoudNotice}, "it has no table of its own"),
    ],
)
def test_a_declaration_that_cannot_be_kept_is_refused(fields: dict[str, Any], told: str) -> None:
    given = {"model": Crate, "topic": "crates", "fields": (), "readers": realtime.NOBODY} | fields
    with pytest.raises(DeclarationError, match=told):
        realtime.declare_model(given.pop("model"), **given)


def test_bulk_operations_of_other_models_are_refused() -> None:
    with pytest.raises(NotDeclaredError, match=r"testapp\.Crate is not declared for realtime"):
        realtime.bulk_create(Crate, [Crate()])
