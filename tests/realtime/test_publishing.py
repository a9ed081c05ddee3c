"""Events published by hand."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pytest
from django.db import transaction

import realtime
from jobs import notifier
from realtime.errors import PublishError
from realtime.models import OutboxEvent

ALL = {"mode": "all"}


def publish(**given: Any) -> int:
    fields = {"topic": "news", "event": "told", "payload": {"a": 1}, "audience": ALL} | given
    return realtime.publish(fields.pop("topic"), **fields)


@pytest.mark.django_db
def test_an_event_is_one_row_as_it_was_given() -> None:
    row_id = publish(payload={"a": [1, None, "é"]}, ordering_key="order:7")

    row = OutboxEvent.objects.get()
    assert row.pk == row_id
    assert (row.topic, row.event, row.payload) == ("news", "told", {"a": [1, None, "é"]})
    assert (row.audience, row.ordering_key, row.status) == (ALL, "order:7", "pending")


@pytest.mark.django_db(transaction=True)
def test_a_rollback_leaves_no_row_and_no_wake_up() -> None:
    woken: list[str] = []
    end = notifier.subscribe(woken.append)
    try:
        with pytest.raises(RuntimeError, match="changed my mind"), transaction.atomic():
            publish()
            raise RuntimeError("changed my mind")
        assert (OutboxEvent.objects.count(), woken) == (0, [])

        with transaction.atomic():
            publish()
            assert woken == []
    finally:
        end()

    assert (OutboxEvent.objects.count(), woken) == (1, ["realtime_outbox"])


@pytest.mark.django_db
def test_times_numbers_and_keys_of_django_have_a_form_in_json() -> None:
    publish(payload={"at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC), "sum": decimal.Decimal("1.10")})

    assert OutboxEvent.objects.get().payload == {"at": "2026-01-02T00:00:00Z", "sum": "1.10"}


@pytest.mark.django_db
@pytest.mark.parametrize("letter", ["x", "é", "漢"])
def test_a_payload_of_a_million_bytes_is_taken_and_one_more_is_refused(letter: str) -> None:
    text = letter * (999_998 // len(letter.encode())) + "x" * (999_998 % len(letter.encode()))

    publish(payload=text)

    with pytest.raises(PublishError, match="1000001 bytes of JSON and the limit is 1000000"):
        publish(payload=text + "x")
    assert OutboxEvent.objects.get().payload == text


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"topic": ""}, "topic='' cannot be published: a topic is printable text"),
        ({"topic": "x" * 201}, "topic="),
        ({"topic": "a\nb"}, "topic="),
        ({"event": ""}, "event='' cannot be published"),
        ({"event": "leave"}, "event='leave' cannot be published"),
        ({"event": 5}, "event=5 cannot be published"),
        ({"ordering_key": ""}, "ordering_key='' cannot be published"),
        ({"ordering_key": 7}, "ordering_key=7 cannot be published"),
        ({"audience": None}, "it is a dict with the key 'mode'"),
        ({"audience": {}}, "its mode is 'disabled', 'all' or 'restricted'"),
        ({"audience": {"mode": ["all"]}}, "its mode is"),
        ({"audience": {"mode": "everyone"}}, "its mode is"),
        ({"audience": {"mode": "all", "users": ["1"]}}, "'all' and 'disabled' name nobody"),
        ({"audience": {"mode": "all", "user": "1"}}, "'all' and 'disabled' name nobody"),
        ({"audience": {"mode": "restricted"}}, "names either 'users' or 'sids'"),
        ({"audience": {"mode": "restricted", "users": "12"}}, "a list of keys as text"),
        ({"audience": {"mode": "restricted", "users": [12]}}, "each key is text, such as str"),
        ({"audience": {"mode": "restricted", "users": []}}, "no model is declared for the topic"),
        (
            {"topic": "notes", "event": "delete", "payload": {"id": 1},
             "audience": {"mode": "restricted", "users": ["1"]}},
            r"realtime\.capture\(topic, users\)",
        ),
        ({"event": "delete"}, "only the id goes out"),
        ({"payload": object()}, "it has no form in JSON"),
        ({"payload": float("nan")}, "it has no form in JSON"),
        ({"payload": "\ud800"}, "it has no form in JSON"),
        ({"payload": {"a": ["b\0"]}}, "keeps no NUL character"),
    ],
)  # fmt: skip
def test_what_cannot_be_published_is_refused_with_its_value_and_what_to_do(
    given: dict[str, Any], told: str
) -> None:
    with pytest.raises(PublishError, match=told):
        publish(**given)


@pytest.mark.django_db
def test_text_that_only_looks_like_a_nul_is_published() -> None:
    publish(payload=r"\u0000")

    assert OutboxEvent.objects.get().payload == r"\u0000"


@pytest.mark.django_db
def test_users_are_kept_once_each() -> None:
    publish(topic="notes", audience={"mode": "restricted", "users": ["7", "12", "7"]})

    assert OutboxEvent.objects.get().audience == {"mode": "restricted", "users": ["12", "7"]}
