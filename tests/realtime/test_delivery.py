"""Events go from the outbox onto the bus, each once, to exactly whom they are for."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, connections, transaction

import realtime
from jobs import direct
from jobs.claims import claim_rows
from jobs.testing import drain, run_once
from realtime.bus import Kind, Message, Mode, Recipients, split_notification
from realtime.delivery import deliver
from realtime.models import BusMessage, OutboxEvent
from tests.forms import form
from tests.realtime.connected import connect
from tests.realtime.working import (
    expire_leases,
    inversions,
    messages,
    new_context,
    own_policy,
    put,
    work_until_done,
)
from tests.testapp.models import Note

pytestmark = pytest.mark.django_db(transaction=True)


@contextlib.contextmanager
def broken_for(text: str) -> Iterator[None]:
    """Let the bus refuse messages that hold a text."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"ALTER TABLE realtime_bus ADD CONSTRAINT no_such CHECK (message NOT LIKE '%{text}%')"
        )
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE realtime_bus DROP CONSTRAINT no_such")


def make_due() -> None:
    """Let what waits for a retry be due."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE realtime_outbox SET next_retry_at = statement_timestamp()"
            " WHERE next_retry_at IS NOT NULL"
        )


def test_an_event_is_completed_and_on_the_bus() -> None:
    realtime.publish("news", event="told", payload={"a": 1}, audience={"mode": "all"})

    run = run_once("realtime.outbox")

    (message,) = messages()
    assert message == Message(
        kind=Kind.EVENT, topic="news", recipients=Recipients.everyone(), event="told",
        payload={"a": 1},
    )  # fmt: skip
    row = OutboxEvent.objects.get()
    assert (row.status, row.attempts, row.claim_token) == ("completed", 1, None)
    assert row.finished_at is not None
    assert run is not None
    assert run.output == {"claimed": 1, "done": 1}


@pytest.mark.parametrize("audience", [{"mode": "disabled"}, {"mode": "restricted", "users": []}])
def test_what_is_for_nobody_is_completed_and_reaches_nobody(audience: dict[str, Any]) -> None:
    realtime.publish("notes", event="told", payload=1, audience=audience)

    drain(OutboxEvent)

    assert OutboxEvent.objects.get().status == "completed"
    assert messages() == []


def test_a_restricted_delete_without_captured_sockets_reaches_nobody() -> None:
    Note.objects.create(owner="7", title="a").delete()

    drain(OutboxEvent)

    assert [(message.kind, message.event) for message in messages()] == [(Kind.EVENT, "insert")]


def test_a_captured_delete_replayed_by_another_worker_reaches_only_the_captured_sockets() -> None:
    note = Note.objects.create(owner="7", title="a")
    connect("stays", "7", "notes")
    goes = connect("goes", "7", "notes")
    connect("other", "9", "notes")
    OutboxEvent.objects.all().delete()
    number = note.pk
    note.delete()
    assert claim_rows(own_policy()) is not None  # and its worker dies
    goes.delete()
    back = connect("back", "7", "notes")
    newcomer = connect("newcomer", "9", "notes")
    for session in (back, newcomer):
        session.subscribed_at = session.connected_at
        session.save()
    expire_leases()

    drain(OutboxEvent)

    told, resync = messages()
    assert (told.event, told.payload, told.replayable) == ("delete", {"id": number}, False)
    assert told.recipients == Recipients.sids("goes", "stays")
    # It may have read the row before it went: it is told to read again, and nothing of it.
    assert (resync.kind, resync.payload, resync.recipients) == (
        Kind.RESYNC, None, Recipients.sids("back"),
    )  # fmt: skip


def test_who_lost_sight_gets_the_id_and_the_others_the_content() -> None:
    note = Note.objects.create(owner="7", title="a")
    connect("s7", "7", "notes")
    OutboxEvent.objects.all().delete()
    note.owner, note.title = "8", "secret"
    note.save()

    drain(OutboxEvent)

    leave, update = messages()
    assert (leave.kind, leave.payload, leave.recipients) == (
        Kind.LEAVE, note.pk, Recipients.sids("s7"),
    )  # fmt: skip
    assert (update.recipients.mode, update.recipients.keys) == (Mode.USERS, ("8",))


SIZES = [*range(7_700, 7_860, 20), *range(7_900, 8_101, form(short=20, full=1))]


@pytest.mark.parametrize("letter", ["x", "é", "漢"])
def test_messages_around_the_limit_of_notify_and_of_a_megabyte_are_told_whole(letter: str) -> None:
    texts = [letter * (size // len(letter.encode())) for size in SIZES]
    texts.append(letter * (999_990 // len(letter.encode())))
    with contextlib.closing(direct.connect(application_name="test")) as listener:
        listener.execute("LISTEN realtime_bus")
        put(*texts)
        drain(OutboxEvent)

        heard = [split_notification(note.payload) for note in listener.notifies(timeout=0.5)]

    stored = dict(BusMessage.objects.values_list("id", "message"))
    assert [number for number, _ in heard] == sorted(stored)
    assert [message.payload for message in messages()] == texts
    for number, text in heard:
        size = len(stored[number].encode())
        assert text == (stored[number] if size <= 7800 else None)


def test_a_worker_paused_past_its_lease_changes_nothing_and_sends_nothing(caplog: Any) -> None:
    put(*range(3))
    paused = claim_rows(own_policy())
    assert paused is not None
    expire_leases()
    drain(OutboxEvent)
    before = list(OutboxEvent.objects.order_by("id").values())

    deliver(new_context(), paused)

    assert list(OutboxEvent.objects.order_by("id").values()) == before
    assert [message.payload for message in messages()] == [0, 1, 2]
    assert caplog.text.count("stale_completion_rejected queue=realtime_outbox") == 3


def test_a_later_write_of_a_long_transaction_is_delivered_after_an_earlier_one() -> None:
    begun, written = threading.Event(), threading.Event()

    def write_late() -> None:
        try:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute("SELECT now()")
                begun.set()
                assert written.wait(20)
                put("second")
        finally:
            connections.close_all()

    long = threading.Thread(target=write_late)
    long.start()
    assert begun.wait(20)
    put("first")
    written.set()
    long.join(20)

    drain(OutboxEvent)

    assert [message.payload for message in messages()] == ["first", "second"]


def test_an_event_that_fails_holds_up_its_own_key_alone() -> None:
    put("a1", "broken", "a3", key="a")
    put("b1", "b2", key="b")
    with broken_for("broken"):
        drain(OutboxEvent)

    assert [message.payload for message in messages()] == ["a1", "b1", "b2"]
    rows = OutboxEvent.objects.order_by("id").values_list("status", "attempts")
    assert list(rows)[:3] == [("completed", 1), ("failed", 1), ("pending", 0)]
    make_due()
    drain(OutboxEvent)
    assert [message.payload for message in messages()] == ["a1", "b1", "b2", "broken", "a3"]


def test_a_dead_letter_holds_up_nothing_any_more(caplog: Any) -> None:
    put("broken", "after it", key="a")
    with broken_for("broken"):
        for attempt in range(1, 9):
            make_due()
            drain(OutboxEvent)
            assert OutboxEvent.objects.order_by("id")[0].attempts == attempt

        assert [message.payload for message in messages()] == ["after it"]

    dead = OutboxEvent.objects.order_by("id")[0]
    assert (dead.status, dead.next_retry_at) == ("failed", None)
    assert dead.finished_at is not None
    assert "no_such" in dead.last_error
    assert f"dead_letter queue=realtime_outbox id={dead.pk}" in caplog.text


def test_four_workers_reorder_nothing_within_a_key() -> None:
    count, keys = form(short=300, full=1500), 20
    chance = random.Random(8)
    for number in range(count):
        key = chance.randrange(keys)
        put({"key": key, "n": number}, key=f"thing:{key}")

    policies = [own_policy(batch=batch) for batch in (1, 3, 5, 10)]
    work_until_done(policies, seconds=form(short=30, full=120), delay=0.02)

    found = messages()
    assert sorted(message.payload["n"] for message in found) == list(range(count))
    assert inversions(found) == 0
    assert len(set(BusMessage.objects.values_list("txid", flat=True))) > 20
