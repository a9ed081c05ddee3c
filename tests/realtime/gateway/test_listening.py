from __future__ import annotations

import datetime as dt
import time

import pytest
from django.db import connection, connections

from jobs.health.state import health
from jobs.models.worker import ListenState
from realtime import tokens
from realtime.bus import Recipients, encode, event_message
from realtime.gateway import listening
from realtime.models import BusMessage
from tests.conftest import wait_until
from tests.realtime.bus import say, send

pytestmark = pytest.mark.django_db(transaction=True)
END_LISTENERS = (
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
    " WHERE application_name = 'engineroom-realtime' AND datname = current_database()"
)


def end_listeners():
    """Terminate every LISTEN connection of a gateway; return how many there were."""
    with connection.cursor() as cursor:
        cursor.execute(END_LISTENERS)
        return cursor.fetchone()[0]


def test_nothing_is_lost_or_doubled_while_the_listener_is_ended_again_and_again(
    client_of, make_user
):
    clients = [client_of(make_user(name), "news") for name in ("anna", "ben")]
    ended, again_at = 0, 0.0

    for number in range(300):
        if time.monotonic() >= again_at:
            ended, again_at = ended + end_listeners(), time.monotonic() + 0.1
        say("news", number)
        time.sleep(0.002)

    assert ended >= 3
    for client in clients:
        client.await_told(300)
        assert client.payloads == list(range(300))


def test_what_commits_after_a_higher_number_comes_too(client_of, make_user):
    client = client_of(make_user(), "news")
    late = connections.create_connection("default")
    late.set_autocommit(False)
    message = event_message("news", event="x", payload="late", recipients=Recipients.everyone())
    with late.cursor() as cursor:
        # Without a NOTIFY: it is found by looking at the bus.
        cursor.execute(
            "INSERT INTO realtime_bus (sender, topic, message) VALUES ('a', 'news', %s)",
            [encode(message)],
        )
    say("news", "higher")
    client.await_told(1)

    late.commit()
    late.close()
    end_listeners()

    client.await_told(2)
    assert client.payloads == ["higher", "late"]


@pytest.mark.parametrize("letter", ["a", "é", "😀", '"'])
def test_messages_about_the_limit_of_notify_and_large_ones_arrive_whole(
    client_of, make_user, letter
):
    client = client_of(make_user(), "news")
    sizes = [*range(7_600, 8_101, 50), 7_999, 8_000, 8_001, 1_000_000]
    texts = [letter * (size // len(letter.encode())) for size in sizes]

    for text in texts:
        say("news", text)

    client.await_told(len(texts))
    assert client.payloads == texts


def test_a_gap_that_cannot_be_closed_is_a_resync_of_every_topic(site, client_of, make_user):
    client = client_of(make_user(), "news", "sport")
    wait_until(lambda: site.gateway.stream.state is ListenState.LISTENING)
    say("news", 1)
    client.await_told(1)

    # As if the process had last looked at the bus before what is kept.
    site.gateway.stream.reader._looked_at -= dt.timedelta(minutes=5)
    end_listeners()

    client.await_told(3)
    assert {data["topic"] for event, data in client.told if event == "resync"} == {"news", "sport"}
    say("news", 2)
    client.await_told(4)
    assert client.payloads == [1, 2]


def test_a_process_that_stood_still_for_too_long_says_so_though_its_connection_lives(
    site, client_of, make_user
):
    client = client_of(make_user(), "news")
    wait_until(lambda: site.gateway.stream.state is ListenState.LISTENING)

    site.gateway.stream.reader._looked_at -= dt.timedelta(minutes=5)
    say("news", "x" * 9_000)  # told by its number, so that the bus is looked at

    assert client.await_told(2)[0] == ("resync", {"topic": "news"})
    assert len(client.payloads) == 1


def test_a_database_that_was_set_back_is_a_resync(site, client_of, make_user):
    client = client_of(make_user(), "news")
    say("news", 1)
    client.await_told(1)

    site.gateway.stream.reader._snapshot = "999999999:999999999:"
    end_listeners()

    assert client.await_told(2)[1] == ("resync", {"topic": "news"})
    say("news", 2)
    client.await_told(3)


def test_a_text_that_nobody_understands_stops_nothing(client_of, make_user):
    client = client_of(make_user(), "news")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify('realtime_bus', 'rubbish')")
        cursor.execute("SELECT pg_notify('realtime_bus', '1 999999 {\"kind\":\"rumour\"}')")

    say("news", 1)

    client.await_told(1)


def test_with_listening_off_the_bus_is_polled_and_readyz_says_so(
    settings, monkeypatch, request, sockets, make_user, client
):
    monkeypatch.setattr(health, "_describers", {})
    settings.WORKER_LISTEN = False
    site = request.getfixturevalue("own_site")
    browser = sockets.connect(site.url, token=tokens.token(make_user()))
    browser.subscribe("news")
    wait_until(lambda: site.gateway.stream.state is ListenState.POLLING)

    says_at = time.monotonic()
    say("news", 1)
    browser.await_told(1)

    assert time.monotonic() - says_at < listening.POLL_SECONDS + 0.5
    assert client.get("/readyz").json()["realtime"] == {
        "listen": "polling",
        "reason": "WORKER_LISTEN is off",
        "clients": 1,
    }


def test_an_empty_audience_reaches_nobody(client_of, make_user):
    client = client_of(make_user(), "news")

    with connection.cursor() as cursor:
        for to in ('["users"]', '["sids"]', "[]", '["topic","x"]'):
            text = f'{{"kind":"event","topic":"news","event":"x","payload":1,"to":{to}}}'
            cursor.execute("SELECT pg_notify('realtime_bus', %s)", [f"1 {10**9 + len(to)} {text}"])
    send(event_message("news", event="x", payload=2, recipients=Recipients.users("nobody")))
    say("news", "end")

    client.await_told(1)
    assert client.payloads == ["end"]


def test_only_the_named_socket_and_the_named_user_are_told(client_of, make_user):
    anna, ben = make_user("anna"), make_user("ben")
    first, second, other = client_of(anna, "news"), client_of(anna, "news"), client_of(ben, "news")
    elsewhere = client_of(anna, "sport")

    say("news", "to a socket", to=Recipients.sids(first.sid, elsewhere.sid, "news", "topic:news"))
    say("news", "to a user", to=Recipients.users(str(anna.pk)))
    say("news", "end")
    say("sport", "end")

    for client, told in (
        (first, ["to a socket", "to a user", "end"]),
        (second, ["to a user", "end"]),
        (other, ["end"]),
        (elsewhere, ["end"]),
    ):
        client.await_told(len(told))
        assert client.payloads == told


def test_old_messages_and_expired_sessions_are_removed(site, client_of, make_user):
    client = client_of(make_user(), "news")
    say("news", "old")
    say("news", "new")
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE realtime_bus SET created_at = now() - interval '301 s'"
            " WHERE message LIKE '%old%'"
        )

    site.run(site.gateway.upkeep.prune())

    assert [one.message for one in BusMessage.objects.all() if "new" in one.message]
    assert BusMessage.objects.count() == 1
    assert client.subscribe("sport") == {"ok": True}
