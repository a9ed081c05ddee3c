from __future__ import annotations

import pytest
from django.db import connection, connections, transaction

from realtime.bus import Recipients, event_message, leave_message
from realtime.gateway.replay import MOST
from realtime.models import BusMessage
from tests.conftest import wait_until
from tests.realtime.bus import say, send

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_client_that_comes_back_gets_what_it_missed_once_and_in_order(client_of, make_user):
    user = make_user()
    first = client_of(user, "news")
    last = say("news", 0)
    first.await_told(1)
    first.disconnect()
    for number in range(1, 6):
        say("news", number)
        say("other", number)
        say("news", f"for {user.pk}", to=Recipients.users(str(user.pk)))
        say("news", "for another", to=Recipients.users("another"))

    second = client_of(user)
    assert second.subscribe("news", last=last) == {"ok": True}
    say("news", 6)

    second.await_told(11)
    expected = [what for number in range(1, 6) for what in (number, f"for {user.pk}")]
    assert second.payloads == [*expected, 6]


def test_what_was_committed_after_a_higher_number_is_missed_too(client_of, make_user):
    user = make_user()
    client = client_of(user, "news")
    late = connections.create_connection("default")
    late.set_autocommit(False)
    with late.cursor() as cursor:
        cursor.execute(
            "INSERT INTO realtime_bus (sender, topic, message) SELECT sender, topic, message"
            " FROM (VALUES ('late', 'news', %s)) AS v (sender, topic, message)",
            ['{"kind":"event","topic":"news","to":["topic"],"event":"update","payload":"late"}'],
        )
    last = say("news", "higher")
    client.await_told(1)
    client.disconnect()
    late.commit()
    late.close()

    again = client_of(user)
    again.subscribe("news", last=last)

    again.await_told(1)
    say("news", "end")
    again.await_told(2)
    assert again.payloads == ["late", "end"]


def test_messages_of_one_transaction_are_not_told_twice(client_of, make_user):
    user = make_user()
    client = client_of(user, "news")
    with transaction.atomic():
        say("news", 1)
        last = say("news", 2)
        say("news", 3)
    client.await_told(3)

    again = client_of(user)
    again.subscribe("news", last=last)

    again.await_told(1)
    assert again.payloads == [3]


@pytest.mark.parametrize(
    "message",
    [
        leave_message("news", object_id=7, recipients=Recipients.everyone()),
        event_message(
            "news",
            event="delete",
            payload={"id": 7},
            recipients=Recipients.sids("gone"),
            replayable=False,
        ),
    ],
)
def test_what_must_not_be_told_again_is_a_resync(client_of, make_user, message):
    user = make_user()
    witness = client_of(user, "news")
    last = say("news", 0)
    send(message)
    say("news", 1)
    wait_until(lambda: 1 in witness.payloads, what="the gateway has read all of it")

    client = client_of(user)
    client.subscribe("news", last=last)

    assert client.await_told(1)[0] == ("resync", {"topic": "news"})
    say("news", 2)
    client.await_told(2)
    assert client.payloads == [2]


def test_a_leave_of_another_is_no_reason_to_resync(client_of, make_user):
    last = say("news", 0)
    send(leave_message("news", object_id=7, recipients=Recipients.users("another")))
    say("news", 1)

    client = client_of(make_user())
    client.subscribe("news", last=last)

    client.await_told(1)
    assert client.payloads == [1]


def test_a_number_that_is_not_on_the_bus_any_more_is_a_resync(client_of, make_user):
    last = say("news", 0)
    say("news", 1)
    BusMessage.objects.filter(pk=last).delete()

    client = client_of(make_user())
    client.subscribe("news", last=last)

    assert client.await_told(1) == [("resync", {"topic": "news"})]


def test_too_much_to_tell_is_a_resync(client_of, make_user):
    last = say("news", 0)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO realtime_bus (sender, topic, message)"
            " SELECT sender, topic, message FROM realtime_bus, generate_series(0, %s)",
            [MOST],
        )

    client = client_of(make_user())
    client.subscribe("news", last=last)

    assert client.await_told(1) == [("resync", {"topic": "news"})]


def test_a_replay_and_the_stream_meet_without_a_gap_or_a_double(client_of, make_user):
    user = make_user()
    last = say("news", 0)
    clients = [client_of(user) for _ in range(5)]

    for number in range(1, 101):
        say("news", number)
        if number % 20 == 0:
            assert clients[number // 20 - 1].subscribe("news", last=last) == {"ok": True}

    for client in clients:
        client.await_told(100)
    say("news", "end")
    for client in clients:
        client.await_told(101)
        assert client.payloads == [*range(1, 101), "end"]


@pytest.mark.parametrize("last", [-1, True, "5", 2**63, 1.5, [1]])
def test_a_last_number_that_is_none_is_refused(client_of, make_user, last):
    client = client_of(make_user())

    assert client.subscribe("news", last=last) == {"error": "last"}
