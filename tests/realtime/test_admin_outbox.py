"""The outbox and the sockets in the admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from jobs.models import AuditLog
from realtime.models import OutboxEvent
from tests.factories import UserFactory, give
from tests.realtime.connected import connect
from tests.realtime.test_outbox_command import put_dead
from tests.realtime.working import put

EVENTS = "/admin/realtime/outboxevent/"
SESSIONS = "/admin/realtime/realtimesession/"
RETRY = f"{EVENTS}verb/retry/"

pytestmark = pytest.mark.django_db


def browser(*permissions: str, **user: Any) -> Client:
    person = UserFactory(**user)
    give(person, *permissions)
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def anna() -> Client:
    """A superuser's browser."""
    return browser(username="anna", is_superuser=True)


def text_of(response: Any) -> str:
    assert response.status_code == 200
    return str(response.content.decode())


def test_the_list_shows_events_newest_first_and_each_filter_its_own(anna: Client) -> None:
    dead, *_ = put_dead("a")
    waiting, *_ = put("b", key="order:7")

    def shown(query: str) -> list[int]:
        return [row.pk for row in anna.get(f"{EVENTS}{query}").context["cl"].result_list]

    assert shown("") == [waiting, dead]
    assert shown("?status=dead") == [dead]
    assert shown("?status=pending") == [waiting]
    assert shown("?status=completed") == []
    page = text_of(anna.get(EVENTS))
    assert "order:7" in page
    assert "■" in page


def test_an_event_says_what_it_waits_for_and_why_it_failed(anna: Client) -> None:
    first, second = put("a", "b", key="order:7")
    dead, *_ = put_dead("c")

    assert f"event {first}</a> of the same key" in text_of(anna.get(f"{EVENTS}{second}/change/"))
    page = text_of(anna.get(f"{EVENTS}{dead}/change/"))
    assert "ValueError: no" in page
    assert f"{RETRY}?ids={dead}" in page


def test_a_payload_is_shown_only_with_its_permission(anna: Client) -> None:
    row, *_ = put("very private")
    observer = browser("realtime.view_outboxevent")

    assert "very private" in text_of(anna.get(f"{EVENTS}{row}/change/"))
    assert "very private" not in text_of(observer.get(f"{EVENTS}{row}/change/"))


def test_retry_asks_for_a_reason_and_acts_once() -> None:
    dead, *_ = put_dead("a")
    operator = browser("realtime.view_outboxevent", "realtime.retry_outboxevent")

    assert "no attempts counted" in text_of(operator.get(RETRY, {"ids": dead}))
    assert text_of(operator.post(RETRY, {"ids": dead, "reason": ""}))
    assert OutboxEvent.objects.get().status == "failed"
    for _ in range(2):
        operator.post(RETRY, {"ids": dead, "reason": "mended"}, follow=True)

    assert OutboxEvent.objects.get().status == "pending"
    assert AuditLog.objects.get().reason == "mended"


def test_all_dead_letters_are_retried_up_to_the_highest_of_that_moment(anna: Client) -> None:
    put_dead("a", "b")

    assert "Retry all dead letters…" in text_of(anna.get(f"{EVENTS}?status=dead"))
    page = anna.get(RETRY, {"scope": "dead"})
    assert page.context["preview"].count == 2


def test_without_the_permission_there_is_no_button_and_no_verb() -> None:
    dead, *_ = put_dead("a")
    observer = browser("realtime.view_outboxevent")

    assert RETRY not in text_of(observer.get(f"{EVENTS}{dead}/change/"))
    assert observer.post(RETRY, {"ids": dead, "reason": "x"}).status_code == 403


def test_sockets_are_listed_with_their_topics_and_whether_they_are_there(anna: Client) -> None:
    assert "Nobody is connected." in text_of(anna.get(SESSIONS))
    connect("here", "7", *(f"topic {n}" for n in range(7)))
    connect("gone", "8", "news", expired=True)

    page = text_of(anna.get(SESSIONS))
    assert "and 2 more" in page
    assert "expired" in page
    assert "topic 6" in text_of(anna.get(f"{SESSIONS}here/change/"))
    assert anna.get(f"{SESSIONS}never/change/").status_code == 302
