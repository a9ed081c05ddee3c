"""LISTEN that is cut, or half-open, under a real worker: noticed, and the poll goes on."""

from __future__ import annotations

import time

import pytest
from django.db import connection

from jobs.models import Worker
from tests.conftest import wait_until
from tests.forms import FULL
from tests.jobs.tcp_proxy import TcpProxy
from tests.testapp.models import Parcel

POLL_SECONDS = 0.2
# A probe every 20 s, and 9 s for its echo.
NOTICED_SECONDS = 30


@pytest.fixture
def proxied(make_fleet):
    """A worker whose LISTEN and NOTIFY go through a proxy, and the proxy."""
    with TcpProxy(connection.settings_dict) as proxy:
        fleet = make_fleet(DIRECT_DATABASE_URL=proxy.url)
        worker = fleet.start("--only", "testapp.parcels")
        wait_until(lambda: listen_state() == "listening")
        yield worker, proxy
        proxy.thaw()
        assert worker.stop() == 0


def listen_state():
    return Worker.objects.values_list("listen", flat=True).first()


def listening_backends():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'engineroom-listen'"
            " AND datname = current_database()"
        )
        return [pid for (pid,) in cursor.fetchall()]


def begin_seconds():
    """Return how long a parcel lies until somebody begins it."""
    parcel = Parcel.objects.create(address="a")
    asked = time.monotonic()
    wait_until(lambda: Parcel.objects.filter(pk=parcel.pk, status="done").exists())
    return time.monotonic() - asked


@pytest.mark.timeout(120)
def test_a_listen_connection_that_is_ended_is_opened_anew(proxied, figures):
    worker, _ = proxied
    (pid,) = listening_backends()

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
    ended = time.monotonic()
    worker.await_output("listen_polling")
    noticed = time.monotonic() - ended
    began = begin_seconds()

    wait_until(lambda: listening_backends() not in ([], [pid]), seconds=45)
    wait_until(lambda: listen_state() == "listening", seconds=45)
    figures(noticed_seconds=round(noticed, 2), work_began_after=round(began, 2))
    assert len(worker.lines("listen_polling")) == 1
    assert worker.code is None


@pytest.mark.timeout(150)
def test_work_begins_within_a_poll_while_the_listen_connection_is_half_open(proxied, figures):
    worker, proxy = proxied

    proxy.freeze(new_too=True)
    frozen = time.monotonic()
    began = [begin_seconds() for _ in range(5)]
    if FULL:
        worker.await_output("listen_polling", seconds=NOTICED_SECONDS + 5)
        noticed = time.monotonic() - frozen
        figures(noticed_seconds=round(noticed, 1))
        assert noticed <= NOTICED_SECONDS
        began += [begin_seconds() for _ in range(5)]

    figures(poll_seconds=POLL_SECONDS, work_began_after=[round(seconds, 2) for seconds in began])
    assert max(began) < POLL_SECONDS + (1 if FULL else 10)
    if FULL:
        proxy.thaw()
        wait_until(lambda: listen_state() == "listening", seconds=60)
