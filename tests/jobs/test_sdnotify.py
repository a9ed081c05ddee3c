from __future__ import annotations

import os
import secrets
import socket

import pytest

from jobs.workers import sdnotify
from jobs.workers.sdnotify import ServiceManager


@pytest.fixture
def systemd(tmp_path):
    """Listen as systemd does, on a path."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.settimeout(20)
        listening.bind(str(tmp_path / "notify"))
        yield listening


@pytest.fixture
def environment(systemd):
    return {"NOTIFY_SOCKET": systemd.getsockname()}


def manager(environment, *, is_well=lambda: True, clock=lambda: 0.0):
    return ServiceManager(environment, is_well=is_well, clock=clock)


def test_assignments_go_out_as_one_message(systemd, environment):
    assert manager(environment).send("READY=1", "STATUS=working")

    assert systemd.recv(1000) == b"READY=1\nSTATUS=working"


def test_an_abstract_socket_is_reached():
    name = f"engineroom-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.settimeout(20)
        listening.bind(f"\0{name}")

        assert manager({"NOTIFY_SOCKET": f"@{name}"}).send("READY=1")

        assert listening.recv(1000) == b"READY=1"


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"NOTIFY_SOCKET": ""},
        {"NOTIFY_SOCKET": "/nowhere/at/all"},
        {"NOTIFY_SOCKET": "relative"},
        {"NOTIFY_SOCKET": "/" + "x" * 200},
        {"NOTIFY_SOCKET": "@a\0b"},
        {"NOTIFY_SOCKET": "/a\0b"},
        {"NOTIFY_SOCKET": "vsock:2:1234"},
    ],
)
def test_where_nobody_listens_nothing_happens(environment):
    assert not manager(environment).send("READY=1")


def test_the_functions_speak_of_this_process(systemd, environment, monkeypatch):
    monkeypatch.setenv("NOTIFY_SOCKET", environment["NOTIFY_SOCKET"])
    monkeypatch.setenv("WATCHDOG_USEC", "2000000")
    monkeypatch.delenv("WATCHDOG_PID", raising=False)
    sdnotify._manager.cache_clear()

    sdnotify.ready("up")
    sdnotify.status("two\nlines")
    sdnotify.watchdog()
    sdnotify.stopping()

    sdnotify._manager.cache_clear()
    assert [systemd.recv(1000) for _ in range(4)] == [
        b"READY=1\nSTATUS=up",
        b"STATUS=two lines",
        b"WATCHDOG=1",
        b"STOPPING=1",
    ]


def test_the_watchdog_hears_at_half_of_its_time(systemd, environment):
    now = 0.0
    told = manager({**environment, "WATCHDOG_USEC": "30000000"}, clock=lambda: now)

    outcomes = []
    for instant in (0.0, 1.0, 14.9, 15.0, 16.0, 30.0):
        now = instant
        outcomes.append(told.watchdog())

    assert told.watchdog_seconds == 15
    assert outcomes == [True, False, False, True, False, True]
    assert systemd.recv(1000) == b"WATCHDOG=1"


def test_the_watchdog_hears_nothing_while_the_process_is_not_well(environment):
    is_well = False
    told = manager({**environment, "WATCHDOG_USEC": "30000000"}, is_well=lambda: is_well)

    assert not told.watchdog()
    is_well = True
    assert told.watchdog()


@pytest.mark.parametrize(
    "watchdog",
    [
        {},
        {"WATCHDOG_USEC": ""},
        {"WATCHDOG_USEC": "0"},
        {"WATCHDOG_USEC": "-5"},
        {"WATCHDOG_USEC": "soon"},
        {"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"},
    ],
)
def test_without_a_watchdog_of_this_process_nothing_is_said(environment, watchdog):
    told = manager({**environment, **watchdog})

    assert told.watchdog_seconds is None
    assert not told.watchdog()


def test_a_watchdog_of_this_process_is_taken(environment):
    mine = {"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}

    assert manager({**environment, **mine}).watchdog()
