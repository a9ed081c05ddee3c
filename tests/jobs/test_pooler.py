"""Behind a real pgbouncer that pools transactions. Collected where there is one."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import psycopg
import pytest
from django.db import connection, connections

from jobs import notifier
from jobs.health.answers import ready
from jobs.health.database import DatabaseCheck
from jobs.health.state import ProcessHealth
from jobs.models.worker import ListenState
from jobs.workers.listener import Listener, ListenTiming
from tests.conftest import wait_until
from tests.jobs.conftest import PGBOUNCER
from tests.jobs.tcp_proxy import password_of

pytestmark = [
    pytest.mark.crash,
    pytest.mark.django_db,
    pytest.mark.usefixtures("quiet_notifier"),
]

CONFIGURATION = """
[databases]
{name} = host=127.0.0.1 port={upstream} dbname={name} {login}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 1
server_tls_sslmode = disable
"""


@pytest.fixture
def pooler(proxy):
    """Start pgbouncer before the test database; give the port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    database = connection.settings_dict
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    file = folder / "pgbouncer.ini"
    file.write_text(
        CONFIGURATION.format(
            name=database["NAME"],
            # It refuses empty values.
            login=" ".join(
                f"{key}='{value}'"
                for key, value in (("user", database["USER"]), ("password", password_of(database)))
                if value
            ),
            upstream=proxy.port,
            port=port,
        )
    )
    # It refuses to run as root.
    user = "nobody" if os.geteuid() == 0 else None
    with subprocess.Popen([PGBOUNCER, "--quiet", str(file)], user=user) as process:
        try:
            wait_until(lambda: process.poll() is not None or answers(port))
            assert process.poll() is None
            yield port
        finally:
            process.terminate()
            process.wait(20)
            shutil.rmtree(folder)


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def url(port):
    database = connection.settings_dict
    return f"postgresql://{database['USER']}@127.0.0.1:{port}/{database['NAME']}"


def test_listening_behind_a_pooler_is_polling_and_is_said_once(pooler, settings, caplog):
    settings.DIRECT_DATABASE_URL = url(pooler)
    states, wakes, attempts = [], [], []
    listener = Listener(
        ["work"],
        on_wake=wakes.append,
        on_state=states.append,
        timing=ListenTiming(echo_within=0.5, silent_retry=0.05),
    )
    listen = listener._listen
    listener._listen = lambda bell: attempts.append(bell) or listen(bell)

    listener.start()
    wait_until(lambda: len(attempts) >= 4)
    listener.stop(wait_seconds=20)

    lines = [one for one in caplog.records if "listen_polling" in one.message]
    assert [line.levelno for line in lines] == [logging.WARNING]
    assert "set DIRECT_DATABASE_URL to an unpooled URL" in listener.reason
    assert (states, wakes) == ([ListenState.POLLING], [])


def test_a_pooled_site_wakes_those_who_listen_past_the_pooler(pooler, ear, settings):
    ear.execute("LISTEN work")
    settings.DIRECT_DATABASE_URL = url(pooler)

    notifier.poke("work")

    assert [news.channel for news in ear.notifies(timeout=20, stop_after=1)] == ["work"]


def test_waking_leaves_nothing_on_a_connection_that_others_commit_on(pooler, ear, settings):
    ear.execute("LISTEN work")
    settings.DIRECT_DATABASE_URL = url(pooler)
    notifier.poke("work")
    (news,) = ear.notifies(timeout=20, stop_after=1)

    with psycopg.connect(url(pooler), autocommit=True, prepare_threshold=None) as other:
        found = other.execute(
            "SELECT pg_backend_pid(), current_setting('synchronous_commit')"
        ).fetchone()

    assert found == (news.pid, "on")


def test_a_pooled_process_is_ready(pooler):
    connections.settings["pooled"] = {
        **connection.settings_dict,
        "HOST": "127.0.0.1",
        "PORT": str(pooler),
    }
    try:
        answer = ready(ProcessHealth(), database=DatabaseCheck(using="pooled"))
    finally:
        del connections.settings["pooled"]

    assert (answer.status, answer.body["reasons"]) == (200, [])


def test_a_pooler_is_told_from_the_server_by_the_number_of_the_session(pooler):
    """By which nothing is prepared in a session that the next transaction does not have."""
    with psycopg.connect(url(pooler), autocommit=True, prepare_threshold=None) as pooled:
        (number,) = pooled.execute("SELECT pg_backend_pid()").fetchone()
        told = pooled.info.backend_pid

    assert number != told
