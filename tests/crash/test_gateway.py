"""Clients on web processes of their own, fed by a worker over PostgreSQL alone."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from socketio.exceptions import ConnectionError as SocketConnectionError

import realtime
from realtime import tokens
from realtime.models import RealtimeSession
from tests.conftest import wait_until
from tests.crash.harness import ROOT, Fleet
from tests.crash.test_pooled import pooled_url  # noqa: F401 (a fixture)
from tests.crash.webs import Web, start_web
from tests.forms import FULL
from tests.jobs.conftest import PGBOUNCER
from tests.realtime.audience import TOPIC
from tests.realtime.raw import DeafClient
from tests.realtime.sockets import Sockets

EVENTS = 1000 if FULL else 200
CLIENTS = 1000 if FULL else 40
# Of 100 KB: more than the kernel's buffers and the gateway's bound together.
HEAVY = 160 if FULL else 100
HOSTILE = 3 if FULL else 1
SAID = 10
KEYS = 20
EVERYONE = {"mode": "all"}


@pytest.fixture
def make_webs(make_fleet) -> Iterator[Callable[..., tuple[Fleet, list[Web]]]]:
    """Start a fleet and web processes beside it."""
    webs: list[Web] = []

    def make(count: int, **environment: str) -> tuple[Fleet, list[Web]]:
        fleet = make_fleet(REALTIME_POLL_MS="500", **environment)
        webs.extend(start_web(fleet) for _ in range(count))
        return fleet, webs

    yield make
    for web in webs:
        web.kill()


@pytest.fixture
def sockets() -> Iterator[Sockets]:
    with Sockets() as sockets:
        yield sockets


def user(name="anna", **fields):
    return get_user_model().objects.create_user(name, password="only-here", **fields)


def publish(number, *, topic="news"):
    """Write an event in a transaction of its own."""
    with transaction.atomic():
        realtime.publish(
            topic,
            event="update",
            payload={"key": number % KEYS, "number": number},
            audience=EVERYONE,
            ordering_key=f"news:{number % KEYS}",
        )


@contextlib.contextmanager
def listeners_ended(every_seconds):
    """Terminate each LISTEN connection again and again; the list grows by what was ended."""
    ended: list[int] = []
    stopping = threading.Event()

    def end():
        while not stopping.wait(every_seconds):
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                    " WHERE application_name IN ('engineroom-realtime', 'engineroom-listen')"
                    " AND datname = current_database()"
                )
                ended.append(cursor.fetchone()[0])
        connection.close()

    thread = threading.Thread(target=end)
    thread.start()
    try:
        yield ended
    finally:
        stopping.set()
        thread.join()


def assert_whole(events, count):
    """Each event once, and those of a key in their order."""
    payloads = [event["payload"] for event in events]
    assert sorted(one["number"] for one in payloads) == list(range(count))
    for key in range(KEYS):
        numbers = [one["number"] for one in payloads if one["key"] == key]
        assert numbers == sorted(numbers)


@pytest.mark.timeout(240)
@pytest.mark.browser
def test_every_client_gets_every_event_once_while_listeners_are_ended_all_the_time(
    make_webs, sockets, browser, figures
):
    fleet, webs = make_webs(2)
    fleet.start("--only", "realtime.outbox").await_start()
    token = tokens.token(user())
    for web in webs:
        web.await_listening()
    clients = [sockets.connect(web.url, token=token) for web in webs for _ in range(2)]
    for client in clients:
        assert client.subscribe("news") == {"ok": True}
    pages = [browser_client(browser, web.url, token) for web in webs]

    with listeners_ended(0.3) as ended:
        for number in range(EVENTS):
            publish(number)
            time.sleep(0.01)
        for client in clients:
            client.await_told(EVENTS, seconds=60)
        for page in pages:
            page.wait_for_function(f"window.told.length >= {EVENTS}", timeout=60_000)

    publish(EVENTS)
    for client in clients:
        client.await_told(EVENTS + 1)
        assert_whole(client.events, EVENTS + 1)
    for page in pages:
        page.wait_for_function(f"window.told.length > {EVENTS}", timeout=60_000)
        assert_whole(page.evaluate("window.told"), EVENTS + 1)
        page.context.close()
    figures(events=EVENTS, clients=len(clients) + len(pages), ended=sum(ended))
    assert sum(ended) >= 2 * len(webs)
    for web in webs:
        assert "Traceback" not in web.output()


def browser_client(browser, url, token):
    """Open a page with JavaScript's own client; what it is told is in `window.told`."""
    page = browser.new_context().new_page()
    page.goto(f"{url}/admin/login/")
    page.add_script_tag(url="/static/realtime/socket.io.min.js")
    page.evaluate(
        """token => new Promise((resolve, reject) => {
            window.told = [];
            window.client = io({auth: {token}});
            client.on("event", data => told.push(data));
            client.on("connect_error", reject);
            client.on("connect", () => client.emit("subscribe", {topic: "news"}, resolve));
        })""",
        token,
    )
    return page


@pytest.mark.timeout(150)
@pytest.mark.skipif(not PGBOUNCER, reason="needs Debian's package pgbouncer")
def test_behind_a_transaction_pooler_the_bus_is_polled(make_webs, sockets, request, figures):
    fleet, (web,) = make_webs(1, DATABASE_URL=request.getfixturevalue("pooled_url"))
    fleet.start("--only", "realtime.outbox").await_start()
    token = tokens.token(user())
    web.await_listening("polling")
    client = sockets.connect(web.url, token=token)
    assert client.subscribe("news") == {"ok": True}

    took = []
    for number in range(10):
        said_at = time.monotonic()
        publish(number)
        client.await_told(number + 1)
        took.append(time.monotonic() - said_at)

    assert_whole(client.events, 10)
    ready = web.readyz()
    figures(slowest_ms=1000 * max(took), median_ms=1000 * sorted(took)[5], ready=ready["realtime"])
    assert ready["ready"]
    assert ready["realtime"]["listen"] == "polling"
    assert "ENGINEROOM" not in ready["realtime"]["reason"]
    assert len(web.lines("realtime_polling")) == 1
    if FULL:
        # The worker's own poll, the gateway's, and half a second.
        assert max(took) < 0.5 + 0.25 + 0.5


@pytest.mark.timeout(300)
def test_a_thousand_clients_are_served_beside_deaf_ones_floods_and_forgers(
    make_webs, sockets, figures
):
    fleet, (web,) = make_webs(1)
    fleet.start("--only", "realtime.outbox").await_start()
    web.await_listening()
    token = tokens.token(user())
    began_at = time.monotonic()
    with contextlib.ExitStack() as stack:
        crowd = stack.enter_context(audience(web.url, token))
        connecting_seconds = time.monotonic() - began_at
        idle_mb = web.resident_mb
        stock = [sockets.connect(web.url, token=token) for _ in range(5)]
        for client in stock:
            assert client.subscribe(TOPIC) == {"ok": True}
        heavy = sockets.connect(web.url, token=token)
        assert heavy.subscribe("heavy") == {"ok": True}
        for _ in range(HOSTILE):
            stack.enter_context(DeafClient(web.url, token=token, topics=["heavy"]))
        floods = [stack.enter_context(DeafClient(web.url, token=token)) for _ in range(HOSTILE)]
        wait_until(lambda: on_heavy() == HOSTILE + 1)
        stopping = threading.Event()
        threads = [threading.Thread(target=flood, args=(one, stopping)) for one in floods]
        for thread in threads:
            thread.start()

        forged = sockets.run(forging(sockets, web.url, token))
        for _ in range(HEAVY):
            say_heavy()
        said_at = time.time()
        for number in range(SAID):
            publish(number, topic=TOPIC)
        for client in stock:
            client.await_told(SAID, seconds=60)
        told = json.loads(crowd.stdout.readline())
        heavy.await_told(HEAVY, seconds=60)
        peak_mb = web.resident_mb

        wait_until(lambda: on_heavy() == 1, seconds=60)
        if FULL:
            wait_until(lambda: RealtimeSession.objects.count() == len(stock) + 1, seconds=60)
        stopping.set()
        for thread in threads:
            thread.join()

    figures(
        clients=CLIENTS,
        connecting_s=round(connecting_seconds, 1),
        ten_events_s=round(told["ended"] - said_at, 2),
        idle_mb=round(idle_mb),
        peak_mb=round(peak_mb),
        cut=len(web.lines("realtime_client_cut")),
    )
    for client in stock:
        assert_whole(client.events, SAID)
    assert told["most"] == SAID
    assert forged == ["unauthorized"] * 20
    # A queue of 4 MB for each that is deaf, a message on its way, and what Python keeps.
    assert peak_mb - idle_mb < 80
    assert "Traceback" not in web.output()


@contextlib.contextmanager
def audience(url, token):
    """Connect the crowd, in a process of its own; all of it is subscribed in the block."""
    command = [sys.executable, "-m", "tests.realtime.audience", url, token, str(CLIENTS), str(SAID)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline().strip() == "ready"
            yield process
        finally:
            process.kill()


async def forging(sockets, url, token):
    """Come with forged tokens; return how each was refused."""
    head, _, signature = token.rpartition(":")
    refusals = []
    for number in range(20):
        forged = f"{head}:{number}{signature[2:]}"
        with pytest.raises(SocketConnectionError):
            await sockets.connecting(url, token=forged)
        refusals.append(sockets.clients.pop().refusals[-1]["message"])
    return refusals


def flood(client, stopping):
    """Ask for topics that the user may not see, as fast as the connection takes it."""
    with contextlib.suppress(OSError):
        while not stopping.is_set():
            client.emit("subscribe", {"topic": "jobs.runs"})


def on_heavy():
    return RealtimeSession.objects.filter(topics=["heavy"]).count()


def say_heavy():
    realtime.publish("heavy", event="x", payload="x" * 100_000, audience=EVERYONE)
