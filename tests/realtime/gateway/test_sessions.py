from __future__ import annotations

import datetime as dt

import pytest
from django.utils import timezone

from realtime import tokens, topics
from realtime.gateway.limits import MOST_TOPICS
from realtime.models import RealtimeSession
from tests.conftest import wait_until
from tests.realtime.bus import say

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_expiry_of_a_session_moves_on_while_its_socket_is_open(site, client_of, make_user):
    client_of(make_user(), "news")
    RealtimeSession.objects.update(expires_at=timezone.now() + dt.timedelta(seconds=1))

    site.run(site.gateway.upkeep.renew())

    left = RealtimeSession.objects.get().expires_at - timezone.now()
    assert dt.timedelta(seconds=60) < left < dt.timedelta(seconds=91)


def test_a_session_that_had_expired_comes_back_and_reads_anew(site, client_of, make_user):
    client = client_of(make_user(), "news", "sport")
    RealtimeSession.objects.update(expires_at=timezone.now() - dt.timedelta(seconds=1))

    site.run(site.gateway.upkeep.prune())
    assert not RealtimeSession.objects.exists()
    site.run(site.gateway.upkeep.renew())

    session = RealtimeSession.objects.get()
    assert (session.sid, set(session.topics)) == (client.sid, {"news", "sport"})
    client.await_told(2)
    assert client.names() == ["resync", "resync"]


def test_the_end_of_the_site_leaves_no_sessions(own_site, sockets, make_user):
    user = make_user()
    clients = [sockets.connect(own_site.url, token=tokens.token(user)) for _ in range(5)]
    assert RealtimeSession.objects.count() == 5

    own_site.stop()

    assert not RealtimeSession.objects.exists()
    for client in clients:
        wait_until(lambda told=client: "disconnect" in told.names())


def test_nothing_comes_after_unsubscribing(client_of, make_user):
    client = client_of(make_user(), "news", "sport")

    assert client.ask("unsubscribe", {"topic": "news"}) == {"ok": True}
    say("news", 1)
    say("sport", 2)

    client.await_told(1)
    assert client.payloads == [2]
    assert RealtimeSession.objects.get().topics == ["sport"]


def test_a_topic_is_read_by_those_whom_its_rule_admits(client_of, make_user, monkeypatch):
    monkeypatch.setattr(topics, "_rules", dict(topics._rules))
    topics.declare_topic("staff", readable_by=lambda user: user.is_staff)
    ben, boss = client_of(make_user("ben")), client_of(make_user("boss", is_staff=True))

    assert ben.subscribe("staff") == {"error": "forbidden"}
    assert boss.subscribe("staff") == {"ok": True}
    say("staff", 1)
    say("other", 2)

    boss.await_told(1)
    assert ben.told == []


def test_a_rule_that_raises_admits_nobody(client_of, make_user, monkeypatch):
    monkeypatch.setattr(topics, "_rules", dict(topics._rules))
    topics.declare_topic("staff", readable_by=lambda user: user.nonsense)

    assert client_of(make_user()).subscribe("staff") == {"error": "unavailable"}


@pytest.mark.parametrize(
    "asked", [None, [], {}, {"topic": 1}, {"topic": ""}, {"topic": "x" * 201}, {"topic": "a\0b"}]
)
def test_what_is_no_topic_is_refused(client_of, make_user, asked):
    assert client_of(make_user()).ask("subscribe", asked) == {"error": "topic"}


def test_one_socket_has_so_many_topics_and_no_more(client_of, make_user):
    client = client_of(make_user(), *(f"t{number}" for number in range(MOST_TOPICS)))

    assert client.subscribe("one more") == {"error": "limit"}
    assert client.subscribe("t0") == {"ok": True}
    assert len(RealtimeSession.objects.get().topics) == MOST_TOPICS


def test_a_socket_id_or_the_name_of_a_room_is_no_more_than_a_topic(client_of, make_user):
    anna, ben = make_user("anna"), make_user("ben")
    victim, spy = client_of(anna, "news"), client_of(ben)
    for name in (victim.sid, "topic:news", f"user:{anna.pk}:news", f"{anna.pk}:news"):
        assert spy.subscribe(name) == {"ok": True}

    say("news", 1)
    say(victim.sid, "end")

    spy.await_told(1)
    assert spy.payloads == ["end"]
    assert victim.payloads == [1]
