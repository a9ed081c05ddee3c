"""A connection that listens for a whole process, through everything that can happen to it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from jobs import notifier
from jobs.models.worker import ListenState
from jobs.workers.listener import Listener, ListenTiming
from jobs.workers.probe import EchoProbe
from tests.conftest import wait_until
from tests.jobs.conftest import own_database

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("quiet_notifier"),
]

QUICK = ListenTiming(
    probe_every=0.1, echo_within=2.0, first_retry=0.05, longest_retry=0.2, silent_retry=0.2
)

LISTENING, POLLING = ListenState.LISTENING, ListenState.POLLING


class Heard:
    """What a listener said, in order."""

    def __init__(self) -> None:
        self.wakes = []
        self.states = []

    @property
    def full_passes(self):
        return self.wakes.count(None)


@contextmanager
def listening(*channels, timing=QUICK, on_wake=None):
    heard = Heard()
    listener = Listener(
        channels or ("work",),
        on_wake=on_wake or heard.wakes.append,
        on_state=heard.states.append,
        timing=timing,
    )
    listener.start()
    try:
        yield listener, heard
    finally:
        listener.stop(wait_seconds=15)
    assert not alive(listener)


def alive(listener):
    return listener._thread is not None and listener._thread.is_alive()


@pytest.fixture
def send(aside):
    return lambda channel: aside.execute("SELECT pg_notify(%s, '')", [channel])


def test_it_listens_once_its_own_echo_came_back_and_then_asks_for_a_full_pass():
    with listening() as (listener, heard):
        assert listener.state is ListenState.STARTING
        wait_until(lambda: heard.wakes)

        assert heard.states == [LISTENING]
        assert heard.wakes == [None]
        assert listener.reason is None


def test_news_name_their_channel(send):
    with listening("work", "Other Work") as (_, heard):
        wait_until(lambda: heard.full_passes)

        send("Other Work")
        wait_until(lambda: "Other Work" in heard.wakes)
        send("nobody's")
        send("work")
        wait_until(lambda: "work" in heard.wakes)

    assert heard.wakes == [None, "Other Work", "work"]


def test_a_poke_of_the_notifier_is_heard():
    with listening() as (_, heard):
        wait_until(lambda: heard.full_passes)

        notifier.poke("work")

        wait_until(lambda: "work" in heard.wakes)


def test_news_that_come_together_are_one_wake(send, aside):
    with listening("work", "last") as (_, heard):
        wait_until(lambda: heard.full_passes)

        aside.execute("SELECT pg_notify('work', number::text) FROM generate_series(1, 100) number")
        send("last")
        wait_until(lambda: "last" in heard.wakes)

    assert 1 <= heard.wakes.count("work") < 100


def test_probes_go_on_while_nothing_happens(monkeypatch):
    heard_nonces = []
    hear = EchoProbe.hear
    monkeypatch.setattr(
        EchoProbe, "hear", lambda probe, nonce: heard_nonces.append(nonce) or hear(probe, nonce)
    )

    with listening() as (_, heard):
        wait_until(lambda: len(set(heard_nonces)) >= 4)

    assert heard.states == [LISTENING]
    assert heard.wakes == [None]


def test_a_killed_connection_is_opened_again_and_followed_by_a_full_pass(backends, terminate, send):
    with listening() as (listener, heard):
        wait_until(lambda: heard.full_passes)
        (pid,) = backends("engineroom-listen")

        terminate(pid)
        wait_until(lambda: heard.full_passes == 2)

        assert heard.states == [LISTENING, POLLING, LISTENING]
        assert pid not in backends("engineroom-listen")
        send("work")
        wait_until(lambda: "work" in heard.wakes)
        assert listener.reason is None


def test_listening_that_is_turned_off_is_polling_from_the_start(settings, backends):
    settings.WORKER_LISTEN = False

    with listening() as (listener, heard):
        assert heard.states == [POLLING]
        assert listener.reason == "WORKER_LISTEN is off"
        assert not alive(listener)
        assert backends("engineroom-listen") == []
    assert heard.wakes == []


def test_a_half_open_connection_is_noticed_by_its_missing_echo(settings, proxy, caplog):
    settings.DIRECT_DATABASE_URL = proxy.url
    with listening() as (_, heard):
        wait_until(lambda: heard.full_passes)

        proxy.freeze()
        wait_until(lambda: heard.full_passes == 2)

        assert heard.states == [LISTENING, POLLING, LISTENING]
    (line,) = [record.message for record in caplog.records if "listen_polling" in record.message]
    assert "No echo came back within 2 s" in line


def test_a_network_that_passes_nothing_at_all_is_outlived(settings, proxy):
    settings.DIRECT_DATABASE_URL = proxy.url
    with listening() as (_, heard):
        wait_until(lambda: heard.full_passes)
        proxy.freeze(new_too=True)
        wait_until(lambda: POLLING in heard.states)

        proxy.thaw()

        wait_until(lambda: heard.full_passes == 2, seconds=40)
        assert heard.states == [LISTENING, POLLING, LISTENING]


def test_an_outage_is_outlived_with_one_line_in_the_log(settings, proxy, caplog):
    settings.DIRECT_DATABASE_URL = proxy.url
    with listening() as (listener, heard):
        wait_until(lambda: heard.full_passes)
        thread = listener._thread
        proxy.refuse()
        wait_until(lambda: listener._failures >= 5)

        proxy.accept_again()
        wait_until(lambda: heard.full_passes == 2)

        assert listener._thread is thread
        assert heard.states == [LISTENING, POLLING, LISTENING]
    lines = [record.message for record in caplog.records if "listen_polling" in record.message]
    assert len(lines) == 1
    assert lines[0].startswith("listen_polling reason=OperationalError")


def test_a_start_without_a_database_listens_when_it_comes(settings, proxy):
    settings.DIRECT_DATABASE_URL = proxy.url
    proxy.refuse()
    with listening() as (_, heard):
        wait_until(lambda: heard.states == [POLLING])

        proxy.accept_again()

        wait_until(lambda: heard.full_passes)
        assert heard.states == [POLLING, LISTENING]


def test_a_password_in_the_url_is_not_in_the_log(settings, caplog):
    settings.DIRECT_DATABASE_URL = "postgresql://me:hush@[::1/db"
    with listening() as (listener, heard):
        wait_until(lambda: heard.states == [POLLING])

        assert "DIRECT_DATABASE_URL" in listener.reason
    assert "listen_polling" in caplog.text
    assert "hush" not in caplog.text


def test_stopping_ends_the_thread_and_the_connection_at_once(backends):
    with listening(timing=ListenTiming()) as (listener, heard):
        wait_until(lambda: heard.full_passes)

        listener.stop(wait_seconds=20)

        assert not alive(listener)
        wait_until(lambda: not backends("engineroom-listen"))


def test_stopping_during_a_long_pause_ends_the_thread_at_once(settings):
    settings.DIRECT_DATABASE_URL = "postgresql://nobody@127.0.0.1:1/nothing"
    patient = ListenTiming(first_retry=3600, longest_retry=3600)
    with listening(timing=patient) as (listener, heard):
        wait_until(lambda: heard.states == [POLLING])

        listener.stop(wait_seconds=20)

        assert not alive(listener)


def test_stopping_does_not_wait_for_a_connection_attempt_that_hangs(settings, proxy):
    settings.DIRECT_DATABASE_URL = proxy.url
    proxy.freeze(new_too=True)
    with listening() as (listener, heard):
        wait_until(lambda: proxy._pairs)

        listener.stop(wait_seconds=0.2)

        assert alive(listener)
        proxy.thaw()
        wait_until(lambda: not alive(listener))
    assert heard.states == heard.wakes == []


def test_a_callback_that_raises_does_not_end_the_listening(caplog, send):
    calls = []

    def fail(channel):
        calls.append(channel)
        raise ZeroDivisionError

    with listening(on_wake=fail) as (listener, _):
        wait_until(lambda: calls)
        send("work")
        wait_until(lambda: "work" in calls)

        assert listener.state is LISTENING
    assert "listen_callback_failed" in caplog.text


STANDING_STILL = """
import json, sys, time
import django
from django.conf import settings

settings.configure(
    DATABASES={"default": json.loads(sys.argv[1])}, INSTALLED_APPS=["jobs"], USE_TZ=True
)
django.setup()

from jobs.workers.listener import Listener, ListenTiming


def say(word):
    print(word, flush=True)


timing = ListenTiming(probe_every=1, first_retry=0.05, longest_pause=0.5)
Listener(["work"], on_wake=say, on_state=say, timing=timing).start()
sys.stdin.read()
"""


@pytest.mark.crash
def test_a_process_that_stood_still_opens_a_new_connection(backends):
    with subprocess.Popen(
        [sys.executable, "-c", STANDING_STILL, own_database()],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert [process.stdout.readline() for _ in range(2)] == ["listening\n", "None\n"]
        (old,) = backends("engineroom-listen")
        process.send_signal(signal.SIGSTOP)
        stopped_at = time.monotonic()
        # The timing is over once its probe is due and half a second has passed.
        wait_until(lambda: time.monotonic() - stopped_at > 2.5)
        process.send_signal(signal.SIGCONT)

        said = [process.stdout.readline() for _ in range(3)]

        (new,) = backends("engineroom-listen")
        _, complaints = process.communicate(timeout=20)
    assert said == ["polling\n", "listening\n", "None\n"]
    assert new != old
    assert "listen_polling reason=ListenPausedError" in complaints
