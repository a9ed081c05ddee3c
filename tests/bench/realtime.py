"""From a commit to the clients, beside the parts it is made of and beside Redis."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction

import realtime
from realtime import outbox, tokens
from tests.bench.pickup import PAUSE_SECONDS, notify_once
from tests.bench.workers import wait_until, workers
from tests.realtime.audience import TOPIC
from tests.realtime.raw import DeafClient

JOB = "realtime.outbox"
TEXT = "x" * 200
WRITTEN_AT_ONCE = 100
LIMIT_SECONDS = 300.0


@dataclass(frozen=True, kw_only=True)
class Amount:
    """How much is sent."""

    times: int  # of a commit alone
    events_1: int  # to one client
    events_100: int  # to a hundred


def measure(amount: Amount) -> dict[str, float]:
    """Return milliseconds and events a second; those of Redis where there is one."""
    found = _ours(amount) | _parts(amount.times)
    if shutil.which("redis-server"):
        found |= _redis(amount)
    else:
        print("  without redis-server (apt-get install redis-server): not beside Redis")
    return found


def _ours(amount: Amount) -> dict[str, float]:
    user, _ = get_user_model().objects.get_or_create(username="bench")
    token = tokens.token(user, seconds=3600)
    with workers(1, JOB), _site("project.asgi:application") as url:
        with _audience(url, token, clients=1, events=amount.times) as audience:
            committed = [_commit_once() for _ in range(amount.times)]
            arrivals, _ = audience.result()
        waits = [after - before for before, after in zip(committed, arrivals, strict=True)]
        return {
            "commit_to_client_ms_p50": 1000 * statistics.median(waits),
            "commit_to_client_ms_p99": 1000 * statistics.quantiles(waits, n=100)[-1],
            "events_1_per_s": _rate(url, token, clients=1, events=amount.events_1),
            "events_100_per_s": _rate(url, token, clients=100, events=amount.events_100),
        }


def _commit_once() -> float:
    committed: list[float] = []
    with transaction.atomic():
        # Runs at once after COMMIT, before the notifier is poked.
        transaction.on_commit(lambda: committed.append(time.time()))
        realtime.publish(TOPIC, event="update", payload={"text": TEXT}, audience={"mode": "all"})
    time.sleep(PAUSE_SECONDS)
    return committed[0]


def _rate(url: str, token: str, *, clients: int, events: int) -> float:
    new = outbox.NewEvent(
        topic=TOPIC,
        event="update",
        payload=outbox.encoded({"text": TEXT}),
        audience={"mode": "all"},
    )
    with _audience(url, token, clients=clients, events=events) as audience:
        began = time.time()
        for _ in range(events // WRITTEN_AT_ONCE):
            outbox.write([new] * WRITTEN_AT_ONCE)
        _, ended = audience.result()
    return events / (ended - began)


def _parts(times: int) -> dict[str, float]:
    """Return what a bare NOTIFY and a bare emit take, measured in the same minute."""
    bare = [_notify_once() for _ in range(times)]
    with (
        _site("tests.bench.plain_site:application") as url,
        _audience(url, "", clients=1, events=times) as audience,
        DeafClient(url) as conductor,
    ):
        conductor.send("40")
        conductor.await_text(b'40{"sid"')
        conductor.emit("go", {"count": times, "pause": PAUSE_SECONDS})
        answer = conductor.await_text(b"430[").partition(b"430[")[2]
        while b"]]" not in answer:
            answer += conductor.read()
        emitted = json.loads(answer[: answer.index(b"]]") + 1])
        arrivals, _ = audience.result()
    emit = [after - before for before, after in zip(emitted, arrivals, strict=True)]
    notify_ms, emit_ms = 1000 * statistics.median(bare), 1000 * statistics.median(emit)
    return {"notify_and_emit_ms_p50": notify_ms + emit_ms, "bare_emit_ms_p50": emit_ms}


def _notify_once() -> float:
    # As the commits and the emits are: hot caches and a core that is awake make it a third.
    time.sleep(PAUSE_SECONDS)
    return notify_once()


def _redis(amount: Amount) -> dict[str, float]:
    with (
        _redis_server() as address,
        _site("tests.bench.plain_site:application", BENCH_REDIS=address) as url,
    ):
        return {
            "redis_1_per_s": _redis_rate(url, address, clients=1, events=amount.events_1),
            "redis_100_per_s": _redis_rate(url, address, clients=100, events=amount.events_100),
        }


def _redis_rate(url: str, address: str, *, clients: int, events: int) -> float:
    import socketio

    manager = socketio.RedisManager(address, write_only=True)
    with _audience(url, "", clients=clients, events=events) as audience:
        time.sleep(1.0)  # its subscription begins with the first client
        began = time.time()
        for _ in range(events):
            manager.emit("event", {"text": TEXT})
        _, ended = audience.result()
    return events / (ended - began)


@dataclass(eq=False)
class Audience:
    """The process of the clients."""

    process: subprocess.Popen[str]

    def result(self) -> tuple[list[float], float]:
        """Wait for the last event; return when the first client was told each, and the end."""
        answer = json.loads(self._line())
        return answer["arrivals"], answer["ended"]

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()


@contextlib.contextmanager
def _audience(url: str, token: str, *, clients: int, events: int) -> Iterator[Audience]:
    command = [
        sys.executable,
        "-m",
        "tests.realtime.audience",
        url,
        token,
        str(clients),
        str(events),
    ]
    with subprocess.Popen(
        command, cwd=settings.BASE_DIR, stdout=subprocess.PIPE, text=True
    ) as process:
        audience = Audience(process)
        assert audience._line().strip() == "ready"
        yield audience


@contextlib.contextmanager
def _site(application: str, **environment: str) -> Iterator[str]:
    port = _free_port()
    arguments = ["--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"]
    with subprocess.Popen(
        [sys.executable, "-m", "uvicorn", application, *arguments],
        cwd=settings.BASE_DIR,
        env=os.environ | environment,
    ) as process:
        try:
            wait_until(lambda: _answers(port), seconds=60)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@contextlib.contextmanager
def _redis_server() -> Iterator[str]:
    port = _free_port()
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            ["redis-server", "--port", str(port), "--save", "", "--dir", folder],
            stdout=subprocess.DEVNULL,
        ) as process,
    ):
        try:
            wait_until(lambda: _answers(port), seconds=30)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.terminate()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def _answers(port: int) -> bool:
    with socket.socket() as trying:
        return trying.connect_ex(("127.0.0.1", port)) == 0
