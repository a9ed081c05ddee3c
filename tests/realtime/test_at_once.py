"""Events that need no claim are delivered by the database alone; all others are left to it."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection, connections

from jobs.claims import ClaimPolicy, claim_rows
from jobs.loglimit import LineLimit
from jobs.workers.queue_pass import Next
from realtime import at_once, bus
from realtime.at_once import deliver_at_once
from realtime.messages import messages_of
from realtime.models import BusMessage, OutboxEvent
from realtime.outbox import NewEvent, encoded, write
from tests.forms import form
from tests.realtime.working import (
    inversions,
    locked_by_another,
    messages,
    new_context,
    own_policy,
    put,
)

pytestmark = pytest.mark.django_db(transaction=True)
CAPTURED = {"mode": "restricted", "sids": ["s1"]}


def rested_policy(**changes: Any) -> ClaimPolicy:
    """Return a policy of which everything was looked at a moment ago."""
    policy = own_policy(**changes)
    policy.pace.whole_look(seconds=0.0, full=False, last=None)
    return policy


def deliver_all(policy: ClaimPolicy) -> Next:
    context = new_context()
    while (step := deliver_at_once(context, policy)) is Next.AGAIN:
        pass
    return step


def pending() -> list[Any]:
    rows = OutboxEvent.objects.filter(status="pending").order_by("id")
    return list(rows.values_list("payload", flat=True))


def put_for(audience: dict[str, Any], *, event: str = "told", payload: Any = 1) -> None:
    write([NewEvent(topic="notes", event=event, payload=encoded(payload), audience=audience)])


def test_they_are_completed_and_on_the_bus_and_nothing_is_left_to_do() -> None:
    put("a", "b")
    policy = rested_policy()

    assert deliver_all(policy) is Next.END

    assert [message.payload for message in messages()] == ["a", "b"]
    row = OutboxEvent.objects.order_by("id")[0]
    assert (row.status, row.attempts, row.claim_token) == ("completed", 1, None)
    assert row.finished_at is not None


PAYLOADS = [None, 0.1, 2**60, '漢\n"', [], {"a": [1, {"b": None}], "topic": "x"}]
AUDIENCES = [
    {"mode": "all"},
    {"mode": "disabled"},
    {"mode": "restricted", "users": []},
    {"mode": "restricted", "users": ["7", 'a"b']},
]


@pytest.mark.parametrize("event", ["insert", "delete", "told"])
def test_their_messages_are_those_of_a_claim(event: str) -> None:
    for audience in AUDIENCES:
        if event != "delete" or audience["mode"] != "restricted":
            for payload in PAYLOADS:
                put_for(audience, event=event, payload=payload)
    rows = OutboxEvent.objects.order_by("id")
    expected = [bus.decode(text) for row in rows for text in messages_of(row)]

    assert deliver_all(rested_policy()) is Next.END

    assert messages() == expected
    assert set(BusMessage.objects.values_list("topic", flat=True)) == {"notes"}


@pytest.mark.parametrize("event", ["delete", "leave"])
def test_what_speaks_of_rows_that_are_gone_is_left_to_a_claim(event: str) -> None:
    put_for(CAPTURED, event=event, payload={"id": 1})
    put_for({"mode": "all"}, event="resync")

    assert deliver_all(rested_policy()) is Next.CLAIM

    assert (len(pending()), messages()) == (2, [])


def test_what_was_tried_before_is_left_to_a_claim() -> None:
    (first,) = put("tried")
    OutboxEvent.objects.filter(pk=first).update(attempts=1)

    assert deliver_all(rested_policy()) is Next.CLAIM

    assert pending() == ["tried"]


def test_an_event_waits_for_an_earlier_one_of_its_key_in_work() -> None:
    put("a1", key="a")
    assert claim_rows(own_policy()) is not None
    put("a2", "a3", key="a")
    put("b1", key="b")

    assert deliver_all(rested_policy()) is Next.CLAIM

    assert ([message.payload for message in messages()], pending()) == (["b1"], ["a2", "a3"])


def test_an_event_waits_for_an_earlier_one_of_its_key_that_is_left_to_a_claim() -> None:
    first, _, _ = put("a1", "a2", "a3", key="a")
    OutboxEvent.objects.filter(pk=first).update(attempts=1)

    assert deliver_all(rested_policy()) is Next.CLAIM

    assert (messages(), pending()) == ([], ["a1", "a2", "a3"])


def test_an_event_that_another_worker_has_locked_holds_up_its_key() -> None:
    first, *_ = put("a1", "a2", key="a")
    put("b1", key="b")

    with locked_by_another(first):
        assert deliver_all(rested_policy()) is Next.CLAIM
        assert [message.payload for message in messages()] == ["b1"]


def test_more_than_a_batch_goes_on_where_the_last_call_ended_and_looks_back() -> None:
    put(*range(7))
    policy = rested_policy(batch=3)
    context = new_context()
    assert deliver_at_once(context, policy) is Next.AGAIN
    assert policy.pace.after is not None
    behind, *_ = put("behind")
    OutboxEvent.objects.filter(pk=behind).update(created_at="2020-01-01T00:00Z")

    assert deliver_all(policy) is Next.END

    assert [message.payload for message in messages()] == [*range(7), "behind"]
    assert context.counts == {"claimed": 3, "done": 3}


def test_a_batch_of_one_is_the_plain_claim() -> None:
    put("a")

    assert deliver_all(rested_policy(batch=1)) is Next.CLAIM

    assert pending() == ["a"]


def test_what_the_database_refuses_changes_nothing_and_is_left_to_a_claim(
    caplog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at_once, "_lines", LineLimit())
    put("fine", "broken")
    with connection.cursor() as cursor:
        cursor.execute(
            "ALTER TABLE realtime_bus ADD CONSTRAINT no_such CHECK (message NOT LIKE '%broken%')"
        )
    try:
        policy = rested_policy()
        assert deliver_all(policy) is Next.CLAIM
        assert not policy.pace.is_quick
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE realtime_bus DROP CONSTRAINT no_such")

    assert (pending(), messages()) == (["fine", "broken"], [])
    assert "delivery_at_once_failed error=IntegrityError" in caplog.text


def test_an_old_whole_look_is_due_again_before_a_pass_ends() -> None:
    policy = rested_policy()
    policy.pace.looked_at -= 3600

    assert deliver_all(policy) is Next.CLAIM


def test_four_workers_reorder_nothing_within_a_key() -> None:
    count, keys = form(short=200, full=1500), 20
    for number in range(count):
        put({"key": number % keys, "n": number}, key=f"k:{number % keys}")

    def work() -> None:
        policy = own_policy(batch=7)
        try:
            while OutboxEvent.objects.filter(status="pending").exists():
                policy.pace.whole_look(seconds=0.0, full=False, last=None)
                deliver_all(policy)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    found = messages()
    assert sorted(message.payload["n"] for message in found) == list(range(count))
    assert inversions(found) == 0


@pytest.mark.plans
def test_the_function_reads_no_table_as_a_whole() -> None:
    put("a", key="a")
    policy = rested_policy()
    deliver_all(policy)

    def scans() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_force_next_flush()")
            cursor.execute(
                "SELECT sum(seq_scan) FROM pg_stat_user_tables WHERE relname LIKE 'realtime%'"
            )
            return int(cursor.fetchone()[0])

    put("b", "c", key="a")
    before = scans()
    deliver_all(policy)

    assert scans() == before
    assert len(messages()) == 3
