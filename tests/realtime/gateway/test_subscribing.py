from __future__ import annotations

import pytest

from realtime.models import RealtimeSession
from tests.conftest import wait_until
from tests.realtime.bus import say

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_subscriber_gets_what_is_said_on_its_topic_and_nothing_else(client_of, make_user):
    client = client_of(make_user(), "news")

    say("other", 1)
    number = say("news", {"title": "größer"})

    assert client.await_told(1) == [
        (
            "event",
            {"topic": "news", "event": "update", "number": number, "payload": {"title": "größer"}},
        )
    ]


def test_the_session_is_recorded_before_the_subscription_is_acknowledged(client_of, make_user):
    user = make_user()

    client = client_of(user, "news", "sport")

    session = RealtimeSession.objects.get()
    assert (session.sid, session.user_key) == (client.sid, str(user.pk))
    assert set(session.topics) == {"news", "sport"}
    client.disconnect()
    wait_until(lambda: not RealtimeSession.objects.exists())
