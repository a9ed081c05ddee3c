"""Changes of a declared model, from its save to the sockets of those who may see it."""

from __future__ import annotations

import pytest

from jobs.claims import claim_rows
from jobs.testing import drain
from realtime.models import OutboxEvent
from realtime.policy import outbox_policy
from tests.realtime.bus import say
from tests.testapp.models import Note

pytestmark = pytest.mark.django_db(transaction=True)


def deliver():
    """Let a worker deliver what waits, then an event that ends what everyone is told."""
    drain("realtime.outbox")
    say("notes", "end")


def test_a_restricted_delete_reaches_the_captured_sockets_that_are_still_there_and_no_other(
    client_of, make_user
):
    anna, ben = make_user("anna"), make_user("ben")
    stays, leaves = client_of(anna, "notes"), client_of(anna, "notes")
    other = client_of(ben, "notes")
    note = Note.objects.create(owner=str(anna.pk), title="secret")
    number = note.pk
    OutboxEvent.objects.all().delete()

    note.delete()
    # A worker takes the event and dies; meanwhile one socket comes back under a new id.
    assert claim_rows(outbox_policy()).rows
    OutboxEvent.objects.update(lease_expires_at="2026-01-01T00:00Z")
    leaves.disconnect()
    again, late = client_of(anna, "notes"), client_of(ben, "notes")
    deliver()

    assert everything(stays) == [("delete", {"id": number})]
    assert everything(again) == ["resync"]
    assert everything(other) == everything(late) == []
    assert OutboxEvent.objects.get().attempts == 2


def test_who_loses_sight_of_a_row_is_told_its_id_and_nothing_of_its_content(client_of, make_user):
    anna, ben = make_user("anna"), make_user("ben")
    before, after = client_of(anna, "notes"), client_of(ben, "notes")
    note = Note.objects.create(owner=str(anna.pk), title="secret")
    OutboxEvent.objects.all().delete()

    note.owner, note.title = str(ben.pk), "now yours"
    note.save()
    deliver()

    assert everything(before) == [("leave", {"topic": "notes", "id": note.pk})]
    row = {"id": note.pk, "title": "now yours", "owner": str(ben.pk)}
    assert everything(after) == [("update", row)]
    assert "secret" not in repr(before.told)


def everything(client):
    """Return what a client was told before the end."""
    client.await_end()
    found = []
    for name, data in client.told[:-1]:
        match name:
            case "event":
                found.append((data["event"], data["payload"]))
            case "leave":
                found.append((name, data))
            case _:
                found.append(name)
    return found
