"""Outbox workers that die or stand still between the claim and the delivery."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

import pytest
from django.db import connections

from realtime.bus import Kind, Recipients
from realtime.models import OutboxEvent, RealtimeSession
from tests.conftest import wait_until
from tests.forms import form
from tests.realtime.connected import connect
from tests.realtime.working import messages
from tests.testapp.models import Note

OUTBOX = ("--only", "realtime.outbox")


@contextlib.contextmanager
def delivery_held_up() -> Iterator[None]:
    """Let a worker that has claimed a delete wait for the table that it looks at next."""
    other = connections.create_connection("default")
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("LOCK TABLE realtime_sessions IN ACCESS EXCLUSIVE MODE")
        yield
    finally:
        other.close()


@pytest.mark.timeout(150)
@pytest.mark.parametrize(
    "number", form(short=[signal.SIGKILL], full=[signal.SIGKILL, signal.SIGSTOP])
)
def test_a_delete_is_told_once_and_only_to_the_sockets_that_were_captured(make_fleet, number):
    fleet = make_fleet(
        REALTIME_LEASE_MS="3000", REALTIME_HEARTBEAT_MS="1000", REALTIME_POLL_MS="200"
    )
    note = Note.objects.create(owner="7", title="a")
    for sid, user in (("stays", "7"), ("goes", "7"), ("other", "9")):
        connect(sid, user, "notes")
    OutboxEvent.objects.all().delete()
    pk = note.pk
    note.delete()
    with delivery_held_up():
        first = fleet.start(*OUTBOX)
        wait_until(lambda: OutboxEvent.objects.filter(status="processing").exists(), seconds=50)
        first.send(number)
    RealtimeSession.objects.filter(sid="goes").delete()
    connect("back", "7", "notes")
    RealtimeSession.objects.filter(sid="back").update(subscribed_at="2100-01-01T00:00Z")

    fleet.start(*OUTBOX)
    wait_until(lambda: OutboxEvent.objects.filter(status="completed").exists(), seconds=50)
    if number == signal.SIGSTOP:
        first.send(signal.SIGCONT)
        wait_until(lambda: first.lines("stale_completion_rejected"), seconds=50)

    told, resync = messages()
    assert (told.event, told.payload) == ("delete", {"id": pk})
    assert told.recipients == Recipients.sids("goes", "stays")
    assert (resync.kind, resync.payload) == (Kind.RESYNC, None)
    assert resync.recipients == Recipients.sids("back")
    assert OutboxEvent.objects.get().attempts == 2
