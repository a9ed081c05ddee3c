"""What the database itself refuses in the outbox."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError

from realtime.models import BusMessage, OutboxEvent, RealtimeSession

pytestmark = pytest.mark.django_db


def write(event: str, audience: Any) -> OutboxEvent:
    return OutboxEvent.objects.create(topic="notes", event=event, payload={}, audience=audience)


@pytest.mark.parametrize(
    "audience",
    [{}, [], "all", {"mode": None}, {"mode": "ALL"}, {"mode": "some"}, {"users": ["1"]}],
)
def test_a_row_without_a_known_mode_is_refused(audience: Any) -> None:
    with pytest.raises(IntegrityError, match="outboxevent_audience_has_mode"):
        write("update", audience)


@pytest.mark.parametrize("event", ["delete", "leave"])
@pytest.mark.parametrize("audience", [{"users": ["1"]}, {"sids": None, "users": ["1"]}])
def test_a_restricted_delete_without_captured_sockets_is_refused(event: str, audience: Any) -> None:
    with pytest.raises(IntegrityError, match="outboxevent_restricted_delete_has_sids"):
        write(event, {"mode": "restricted", **audience})


@pytest.mark.parametrize("audience", [{}, {"users": "1"}, {"users": None}])
def test_a_restricted_audience_without_a_list_is_refused(audience: Any) -> None:
    with pytest.raises(IntegrityError, match="outboxevent_restricted_has_list"):
        write("update", {"mode": "restricted", **audience})


@pytest.mark.parametrize(
    ("event", "audience"),
    [
        ("update", {"mode": "disabled"}),
        ("delete", {"mode": "all"}),
        ("update", {"mode": "restricted", "users": []}),
        ("delete", {"mode": "restricted", "sids": []}),
    ],
)
def test_the_modes_of_the_table_are_taken(event: str, audience: Any) -> None:
    row = write(event, audience)

    assert OutboxEvent.objects.get(pk=row.pk).audience == audience


def test_a_message_of_the_bus_knows_its_transaction() -> None:
    message = BusMessage.objects.create(sender="a", topic="notes", message="{}")

    message.refresh_from_db()
    assert message.txid > 0
    assert message.snapshot.count(":") == 2
    assert list(BusMessage.objects.filter(txid__gte=message.txid, txid__lt=message.txid + 1))


def test_sessions_are_found_by_topic(django_assert_num_queries: Any) -> None:
    RealtimeSession.objects.create(
        sid="s1", user_key="7", topics=["notes", "cards"], expires_at="2100-01-01T00:00Z"
    )

    with django_assert_num_queries(1):
        found = list(RealtimeSession.objects.filter(topics__contains=["notes"]))

    assert [session.sid for session in found] == ["s1"]
