from __future__ import annotations

import asyncio
import gc
import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from realtime import tokens
from realtime.errors import EmptyRecipientsError, SharedEmitError
from realtime.gateway import engine, wire
from realtime.gateway.emitting import Emitter
from realtime.gateway.limits import MOST_WAITING_BYTES, BoundedQueue, Pace
from tests.conftest import wait_until
from tests.realtime.bus import say
from tests.realtime.raw import DeafClient

db = pytest.mark.django_db(transaction=True)


def run_apart(work):
    """Run on a thread of its own: a browser's tests leave a running loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result(20)


def test_a_burst_is_free_and_then_each_message_waits_for_its_turn():
    now = [0.0]
    pace = Pace(burst=3, per_second=2.0, clock=lambda: now[0])

    assert [pace.take() for _ in range(5)] == [0.0, 0.0, 0.0, 0.5, 1.0]
    now[0] = 10.0
    assert [pace.take() for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]


def test_what_waits_for_a_client_is_bounded_and_the_end_always_fits():
    async def scenario():
        full = []
        queue = BoundedQueue(most_bytes=1000)
        queue.on_full = lambda: full.append(1)
        for _ in range(10):
            await queue.put(SimpleNamespace(data="x" * 100))
        await queue.put(None)
        assert (queue.qsize(), full) == (4, [1])
        queue.clear()
        await queue.put(SimpleNamespace(data=""))
        await queue.put(None)
        assert [await queue.get() for _ in range(queue.qsize())] == [None]

    run_apart(scenario())


def test_what_was_read_makes_room():
    async def scenario():
        queue = BoundedQueue(most_bytes=1000)
        for _ in range(100):
            await queue.put(SimpleNamespace(data="x" * 700))
            await queue.get()
        assert not queue.is_full

    run_apart(scenario())


@pytest.mark.parametrize("rooms", [[], (), [""], ["topic:news", ""]])
def test_an_audience_of_no_room_is_refused(rooms):
    with pytest.raises(EmptyRecipientsError):
        run_apart(Emitter(SimpleNamespace()).emit("event", {}, rooms=rooms))


@db
def test_nothing_emits_past_the_wrapper(site):
    for room in (None, [], "topic:news"):
        with pytest.raises(SharedEmitError):
            site.run(site.gateway.server.emit("event", {}, to=room))


@db
def test_a_client_that_never_reads_is_cut_and_the_others_are_served(site, client_of, make_user):
    reader = client_of(make_user(), "news")
    with DeafClient(site.url, token=tokens.token(make_user("deaf")), topics=["news"]):
        wait_until(lambda: len(site.gateway.subscriptions) == 2)

        for _ in range(2 * MOST_WAITING_BYTES // 100_000):
            say("news", "x" * 100_000)

        wait_until(lambda: len(site.gateway.subscriptions) == 1)
        reader.await_told(80)
    waiting = [one for one in gc.get_objects() if isinstance(one, BoundedQueue)]
    assert sum(sys.getsizeof(one) for one in waiting) < MOST_WAITING_BYTES


@db
def test_a_write_that_takes_too_long_ends_the_connection(site, make_user, monkeypatch):
    monkeypatch.setattr(wire, "SEND_SECONDS", 0.2)
    with DeafClient(site.url, token=tokens.token(make_user()), topics=["news"]) as deaf:
        wait_until(lambda: len(site.gateway.subscriptions) == 1)

        for _ in range(70):
            say("news", "x" * 100_000)

        wait_until(lambda: not len(site.gateway.subscriptions))
        assert deaf.is_open


@db
def test_who_does_not_say_who_it_is_is_sent_away(site, monkeypatch):
    monkeypatch.setattr(engine, "GREETING_SECONDS", 0.0)
    with DeafClient(site.url) as stranger:
        wait_until(lambda: len(site.gateway.server.eio.sockets) == 1)

        site.run(site.gateway.upkeep.send_strangers_away())

        stranger.await_end()


@db
def test_who_floods_is_read_at_a_pace_and_then_cut_and_the_others_are_served(
    site, client_of, make_user, monkeypatch
):
    monkeypatch.setattr(wire, "FLOOD_SECONDS", 0.2)
    reader = client_of(make_user(), "news")
    with DeafClient(site.url, token=tokens.token(make_user("flood"))) as flood:
        wait_until(lambda: len(site.gateway.subscriptions) == 2)

        for number in range(3000):
            flood.emit("unsubscribe", {"topic": f"t{number}"})
        say("news", 1)

        reader.await_told(1)
        wait_until(lambda: len(site.gateway.subscriptions) == 1)


@db
def test_rubbish_ends_or_is_ignored_and_the_others_are_served(site, client_of, make_user, caplog):
    reader = client_of(make_user(), "news")
    with caplog.at_level(logging.ERROR):
        for text in ("", "9", "4", "49", "42", "42[", "42{}", "451-[", "4\0", "x" * 70_000):
            with DeafClient(site.url, token=tokens.token(make_user(f"user{text[:9]!r}"))) as client:
                client.send(text)
    say("news", 1)

    reader.await_told(1)
    assert len([one for one in caplog.records if one.name == "realtime.gateway.packets"]) <= 1
