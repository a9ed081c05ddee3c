"""The embedded server after accidents: killed servers, killed owners, what they leave behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from project.postgres import pidfile, sockets
from project.postgres.accounts import account_for
from project.postgres.attachment import attach_at
from project.postgres.binaries import system_candidates
from project.postgres.lifecycle import stop_running
from project.postgres.locks import exclusively
from project.postgres.record import mark_unwanted
from project.postgres.supervisor import Supervisor
from tests.conftest import wait_until
from tests.project.postgres_site import (
    NOBODY,
    Site,
    as_root,
    ask,
    connect,
    connects,
    fresh_site,
    record_of,
    site,
    used_site,
)

__all__ = ["fresh_site", "site", "used_site"]
pytestmark = [pytest.mark.timeout(120), pytest.mark.crash]
# What is promised is 5 s; a busy machine may take longer to replay the log.
BACK_SECONDS = 30.0


def test_a_killed_server_is_back_with_what_was_committed(site: Site) -> None:
    with attach_at(site.places) as attachment:
        with connect(attachment.address) as connection:
            connection.execute("CREATE TABLE before_kill AS SELECT 42 AS answer")
        killed = record_of(site.places).ready_pid
        os.kill(killed, signal.SIGKILL)

        wait_until(lambda: is_back(site, killed=killed), seconds=BACK_SECONDS)

        assert ask(attachment.address, "SELECT answer FROM before_kill") == 42
        assert not psutil.pid_exists(killed), "the killed server was not reaped"
        assert psutil.Process(record_of(site.places).ready_pid).ppid() == os.getpid()


def test_of_several_users_of_a_killed_server_one_brings_it_back_for_all(site: Site) -> None:
    users = [site.user() for _ in range(3)]
    killed = {user.ask("attach") for user in users}.pop()

    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: is_back(site, killed=killed), seconds=BACK_SECONDS)

    assert {user.ask("query SELECT 1") for user in users} == {"1"}
    for user in users:
        user.leave()
    assert pidfile.find_postmaster(site.places.data) is None


def test_the_server_of_a_killed_owner_is_adopted_and_stopped_by_the_last_user(site: Site) -> None:
    owner = site.user()
    pid = owner.ask("attach")
    owner.ask("query CREATE TABLE orphaned AS SELECT 7 AS answer")
    owner.kill()
    assert pidfile.is_alive(pid)

    with attach_at(site.places) as attachment:
        assert record_of(site.places).ready_pid == pid
        assert ask(attachment.address, "SELECT answer FROM orphaned") == 7

    assert not pidfile.is_alive(pid)


def test_an_adopted_server_that_is_killed_comes_back_too(site: Site) -> None:
    owner = site.user()
    owner.ask("attach")
    with attach_at(site.places) as attachment:
        owner.kill()
        killed = record_of(site.places).ready_pid
        os.kill(killed, signal.SIGKILL)

        wait_until(lambda: is_back(site, killed=killed), seconds=BACK_SECONDS)

        assert ask(attachment.address, "SELECT 1") == 1


def test_a_start_killed_in_initdb_does_not_stand_in_the_way_of_the_next(fresh_site: Site) -> None:
    owner = fresh_site.user()
    owner.begin("attach")
    wait_until(lambda: list(fresh_site.var.glob("postgres.new-*/data/PG_VERSION")), seconds=30)
    children = psutil.Process(owner.process.pid).children(recursive=True)
    owner.kill()
    for child in children:
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()

    with attach_at(fresh_site.places) as attachment:
        assert ask(attachment.address, "SELECT 1") == 1

    assert not list(fresh_site.var.glob("postgres.new-*"))


def test_an_incomplete_data_directory_is_moved_aside(fresh_site: Site) -> None:
    fresh_site.places.data.mkdir(parents=True)
    (fresh_site.places.data / "PG_VERSION").write_text("15\n")

    with attach_at(fresh_site.places) as attachment:
        assert ask(attachment.address, "SELECT 1") == 1

    assert len(list(fresh_site.var.glob("postgres.incomplete-*/PG_VERSION"))) == 1


def test_a_zombie_that_nobody_reaps_does_not_keep_the_server_from_starting(site: Site) -> None:
    parent = start_unreaped_server(site)
    try:
        zombie = pidfile.find_postmaster(site.places.data).pid
        os.kill(zombie, signal.SIGKILL)
        wait_until(lambda: psutil.Process(zombie).status() == psutil.STATUS_ZOMBIE)

        with attach_at(site.places) as attachment:
            assert ask(attachment.address, "SELECT 1") == 1
            assert psutil.Process(zombie).status() == psutil.STATUS_ZOMBIE
    finally:
        parent.kill()
        parent.wait(30)


def test_a_lock_file_that_names_a_stranger_does_not_keep_the_server_from_starting(
    site: Site,
) -> None:
    account = account_for(site.places.data)
    stranger = subprocess.Popen(["sleep", "300"], **account.process_options())
    try:
        lines = [str(stranger.pid), str(site.places.data), "1", "5432", "/nowhere", "", "1 1", ""]
        (site.places.data / pidfile.NAME).write_text("\n".join(lines))

        with attach_at(site.places) as attachment:
            assert ask(attachment.address, "SELECT 1") == 1

        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait(30)


def test_a_server_cut_off_from_its_socket_is_started_again(site: Site) -> None:
    owner = site.user()
    pid = owner.ask("attach")
    sockets.clear_directory(Path(record_of(site.places).sockets))

    with attach_at(site.places) as attachment:
        assert record_of(site.places).ready_pid != pid
        assert ask(attachment.address, "SELECT 1") == 1
        assert owner.ask("query SELECT 2") == "2"
        owner.leave()


def test_lost_passwords_are_replaced_and_the_data_kept(site: Site) -> None:
    with attach_at(site.places) as attachment, connect(attachment.address) as connection:
        connection.execute("CREATE TABLE behind_password AS SELECT 5 AS answer")
    former = site.places.passfile.read_text()
    site.places.passfile.unlink()

    with attach_at(site.places) as attachment:
        assert ask(attachment.address, "SELECT answer FROM behind_password") == 5
        assert site.places.passfile.read_text() != former
        assert not (Path(attachment.address.host) / "pg_hba.conf").exists()


def test_passwords_lost_while_the_server_runs_are_replaced_by_the_next_command(
    site: Site,
) -> None:
    owner = site.user()
    owner.ask("attach")
    site.places.passfile.unlink()

    with attach_at(site.places) as attachment:
        assert ask(attachment.address, "SELECT 1") == 1
        assert owner.ask("query SELECT 2") == "2"
        owner.leave()


def test_a_dropped_database_is_made_again_at_the_next_start(site: Site) -> None:
    with attach_at(site.places) as attachment:
        elsewhere = attachment.address.__class__(
            host=attachment.address.host, passfile=attachment.address.passfile, dbname="postgres"
        )
        with connect(elsewhere) as connection:
            connection.execute("DROP DATABASE engineroom WITH (FORCE)")
        assert not connects(attachment.address)

    with attach_at(site.places) as attachment:
        assert ask(attachment.address, "SELECT current_database()") == "engineroom"


@as_root
def test_a_socket_directory_taken_by_another_user_is_left_alone(site: Site) -> None:
    taken = sockets.expected_directory(site.places)
    taken.mkdir()
    taken.chmod(0o777)
    os.chown(taken, NOBODY.pw_uid, NOBODY.pw_gid)
    try:
        with attach_at(site.places) as attachment:
            assert attachment.address.host != str(taken)
            assert attachment.address.host == record_of(site.places).sockets
            assert ask(attachment.address, "SELECT 1") == 1
        assert list(taken.iterdir()) == []
    finally:
        taken.rmdir()


def test_a_link_in_the_place_of_the_socket_directory_is_not_followed(site: Site) -> None:
    site.places.record.unlink()
    expected = sockets.expected_directory(site.places)
    target = site.base / "target"
    target.mkdir(mode=0o700)
    account = account_for(site.places.data)
    os.chown(target, account.uid, account.gid)
    expected.symlink_to(target)
    try:
        with attach_at(site.places) as attachment:
            assert attachment.address.host != str(expected)
        assert list(target.iterdir()) == []
    finally:
        expected.unlink()


def test_a_server_stopped_by_force_stays_down_until_somebody_wants_it(site: Site) -> None:
    user = site.user()
    pid = user.ask("attach")
    with exclusively(site.places.mutex):
        mark_unwanted(site.places)
        stop_running(site.places)

    Supervisor(site.places, pid=pid)._look()

    assert "No such file or directory" in user.ask("query SELECT pg_sleep(1)")
    assert pidfile.find_postmaster(site.places.data) is None
    with attach_at(site.places) as attachment:
        assert ask(attachment.address, "SELECT 1") == 1
        assert user.ask("query SELECT 2") == "2"
        user.leave()


def test_a_log_over_its_limit_is_moved_away_under_a_running_server(site: Site) -> None:
    from project.postgres.logfile import keep_log_small

    with attach_at(site.places) as attachment:
        with exclusively(site.places.mutex):
            keep_log_small(site.places, limit_bytes=1)
        emptied = site.places.log.stat().st_size
        with connect(attachment.address) as connection:
            connection.execute("DO $$ BEGIN RAISE LOG 'after the cut'; END $$")

        assert emptied == 0
        assert "after the cut" in site.places.log.read_text().splitlines()[0]
        assert (
            "ready to accept connections" in site.places.log.with_name("postgres.log.1").read_text()
        )


def is_back(site: Site, *, killed: int) -> bool:
    return record_of(site.places).ready_pid not in {0, killed}


def start_unreaped_server(site: Site) -> subprocess.Popen[bytes]:
    """Start a server under a parent that never looks after its children."""
    record = record_of(site.places)
    account = account_for(site.places.data)
    program = next(system_candidates()).directory / "postgres"
    directory = sockets.prepare_directory(
        site.places, account=account, recorded=Path(record.sockets)
    )
    command = [str(program), "-D", str(site.places.data), "-c", "listen_addresses="]
    command += ["-c", f"unix_socket_directories={directory}"]
    code = (
        "import json, subprocess, sys, time\n"
        "command, options = json.loads(sys.argv[1])\n"
        "child = subprocess.Popen(command, **options)\n"
        "time.sleep(300)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, json.dumps([command, account.process_options()])],
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: is_ready(site), seconds=BACK_SECONDS)
    return parent


def is_ready(site: Site) -> bool:
    postmaster = pidfile.find_postmaster(site.places.data)
    return postmaster is not None and postmaster.ready
