"""What tests of connections share."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator

import psycopg
import pytest
from django.db import connection

from jobs import direct, notifier
from tests.jobs.tcp_proxy import TcpProxy

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
# A real pooler, where there is one.
collect_ignore = [] if PGBOUNCER else ["test_pooler.py"]


def own_database() -> str:
    """Return Django's settings of the test database, for a program that is a test's own."""
    names = ("ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT", "OPTIONS")
    return json.dumps({name: connection.settings_dict[name] for name in names})


@pytest.fixture
def proxy(db) -> Iterator[TcpProxy]:
    """Stand between this process and the test database."""
    with TcpProxy(connection.settings_dict) as proxy:
        yield proxy


@pytest.fixture
def ear(db) -> Iterator[psycopg.Connection]:
    """Give a connection to the test database that hears what it LISTENs to."""
    with direct.connect(application_name="ear") as ear:
        yield ear


@pytest.fixture
def quiet_notifier() -> Iterator[None]:
    """End this process's notifiers before and after the test."""
    notifier.close()
    notifier._forget_parent()
    yield
    notifier.close()
    notifier._forget_parent()


@pytest.fixture
def aside(db) -> Iterator[psycopg.Connection]:
    """Give a connection beside Django's, so that nothing waits for the end of a test."""
    with direct.connect(application_name="aside") as aside:
        yield aside


@pytest.fixture
def backends(aside) -> Callable[[str], list[int]]:
    """Return the server processes of this test's own with an application name."""

    def find(application_name: str) -> list[int]:
        rows = aside.execute(
            "SELECT pid FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = %s AND pid <> ALL (%s)",
            [application_name, others],
        )
        return [pid for (pid,) in rows]

    # What earlier tests have closed may still be on its way out.
    others = [pid for (pid,) in aside.execute("SELECT pid FROM pg_stat_activity")]
    return find


@pytest.fixture
def terminate(aside) -> Callable[[int], None]:
    """End a server process."""

    def end(pid: int) -> None:
        aside.execute("SELECT pg_terminate_backend(%s)", [pid])

    return end
