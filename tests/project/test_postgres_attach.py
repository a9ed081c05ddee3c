"""Using the embedded server: the first start, several users, the last one out."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path

import psutil
import psycopg
import pytest

from project.postgres import attach, connection_parameters, pidfile
from project.postgres.attachment import attach_at
from project.postgres.cluster import existing_data
from project.postgres.errors import ForeignDirectoryError, VarNotWritableError
from project.postgres.places import STATE_ROOT, places_of
from project.postgres.record import load_record
from tests.project.postgres_site import (
    NOBODY,
    Site,
    as_root,
    ask,
    connect,
    end_server,
    fresh_site,
    record_of,
    site,
    used_site,
)

__all__ = ["fresh_site", "site", "used_site"]
pytestmark = [pytest.mark.timeout(120), pytest.mark.crash]
AS_NOBODY = ("--uid", str(NOBODY.pw_uid), "--gid", str(NOBODY.pw_gid))


def test_a_fresh_checkout_gets_a_private_server_with_a_role_and_a_database(
    fresh_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "not-for-the-server")
    monkeypatch.setenv("PGPORT", "1")
    expected = connection_parameters(fresh_site.var)
    assert not fresh_site.var.exists()
    assert len(os.fsencode(fresh_site.var)) > 107

    with attach_at(fresh_site.places) as attachment:
        address = attachment.address
        server = psutil.Process(record_of(fresh_site.places).ready_pid)
        assert address == connection_parameters(fresh_site.var) == expected
        assert ask(address, "SELECT current_user || ' ' || current_database()") == (
            "engineroom engineroom"
        )
        assert ask(
            address,
            "SELECT rolcreatedb AND NOT rolsuper FROM pg_roles WHERE rolname = current_user",
        )
        assert ask(address, "SHOW server_encoding") == "UTF8"
        assert ask(address, "SHOW data_checksums") == "on"
        assert ask(address, "SHOW fsync") == "on"
        assert ask(address, "SHOW listen_addresses") == ""
        assert int(ask(address, "SHOW max_connections")) == 200
        with connect(address) as connection:
            connection.execute("CREATE DATABASE another")
        assert server.ppid() == os.getpid()
        assert os.getsid(server.pid) == server.pid
        assert server.uids().real != 0
        # In a container root may be kept from looking.
        with contextlib.suppress(psutil.AccessDenied):
            assert "SECRET_KEY" not in server.environ()
        assert mode_of(address.host) == mode_of(fresh_site.places.data) == 0o700
        assert mode_of(address.passfile) == 0o600

    assert not pidfile.is_alive(server.pid)
    assert not Path(address.host).exists()


def test_a_wrong_password_is_refused(site: Site) -> None:
    with attach_at(site.places) as attachment:
        host = attachment.address.host
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(host=host, user="engineroom", dbname="engineroom", password="guess")


@as_root
def test_an_ordinary_user_is_told_that_the_server_is_another_users(site: Site) -> None:
    lend = [site.var, site.places.mutex, site.places.users, site.places.record]
    for path in lend:
        os.chown(path, NOBODY.pw_uid, NOBODY.pw_gid)

    refusal = site.user(None, *AS_NOBODY).refusal("attach")

    for path in lend:
        os.chown(path, 0, 0)
    assert "belongs to the user postgres, this command runs as nobody" in refusal


def test_ten_processes_at_once_share_one_server_and_the_last_one_out_stops_it(
    site: Site,
) -> None:
    users = [site.user() for _ in range(10)]
    for user in users:
        user.begin("attach")

    pids = {user.answer()["ok"] for user in users}

    assert len(pids) == 1
    assert {user.ask("query SELECT 'up'") for user in users} == {"up"}
    for user in users[:-1]:
        user.begin("detach")
    for user in users[:-1]:
        assert user.answer() == {"ok": None}
    assert users[-1].ask("query SELECT 'still up'") == "still up"
    users[-1].leave()
    assert not pidfile.is_alive(pids.pop())


def test_the_starter_may_leave_first(site: Site) -> None:
    starter, other = site.user(), site.user()
    pid = starter.ask("attach")

    assert other.ask("attach") == pid
    starter.leave()

    assert other.ask("query SELECT 'up'") == "up"
    other.leave()
    assert not pidfile.is_alive(pid)


def test_two_uses_in_one_process_are_counted(site: Site) -> None:
    first, second = attach_at(site.places), attach_at(site.places)

    first.detach()

    assert ask(second.address, "SELECT 1") == 1
    second.detach()
    second.detach()
    assert pidfile.find_postmaster(site.places.data) is None


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_neither_stops_the_server_nor_keeps_it_from_being_stopped(
    site: Site,
) -> None:
    attachment = attach_at(site.places)
    (heard, say), (told, tell) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        attachment.detach()
        os.write(say, b"detached")
        os.read(told, 1)
        os._exit(0)

    try:
        assert os.read(heard, 8) == b"detached"
        assert ask(attachment.address, "SELECT 1") == 1
        attachment.detach()
        assert pidfile.find_postmaster(site.places.data) is None
    finally:
        os.write(tell, b"x")
        os.waitpid(child, 0)
        for descriptor in (heard, say, told, tell):
            os.close(descriptor)


@as_root
def test_an_ordinary_user_runs_the_server_as_itself_and_root_keeps_to_that_user(
    fresh_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = fresh_site.base / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setenv("PATH", f"{closed}:{os.environ['PATH']}")
    os.chown(fresh_site.var.parent, NOBODY.pw_uid, NOBODY.pw_gid)
    owner, again = (fresh_site.user(None, *AS_NOBODY) for _ in range(2))

    pid = owner.ask("attach")
    assert psutil.Process(pid).uids().real == NOBODY.pw_uid
    assert owner.ask("query SELECT current_user") == "engineroom"
    owner.leave()
    assert not pidfile.is_alive(pid)
    with attach_at(fresh_site.places) as attachment:
        assert ask(attachment.address, "SELECT 1") == 1
        server = psutil.Process(record_of(fresh_site.places).ready_pid)
        assert server.uids().real == NOBODY.pw_uid

    assert again.ask("attach")


@as_root
def test_a_checkout_out_of_the_servers_reach_has_its_data_under_var_lib(
    fresh_site: Site,
) -> None:
    fresh_site.var.parent.chmod(0o700)
    places = places_of(fresh_site.var)
    was_there = STATE_ROOT.exists()
    try:
        with attach(fresh_site.var) as attachment, connect(attachment.address) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
            assert Path(record_of(places).data) == places.remote_room / "data"
            assert places.remote_room.parent == STATE_ROOT
        shutil.rmtree(fresh_site.var)
        with attach(fresh_site.var) as attachment:
            assert ask(attachment.address, "SELECT answer FROM kept") == 42
        assert mode_of(fresh_site.var.parent) == 0o700
        assert (places.remote_room / "checkout").read_text() == f"{places.var}\n"
    finally:
        end_server(places)
        shutil.rmtree(places.remote_room)
        if not was_there:
            with contextlib.suppress(OSError):
                STATE_ROOT.rmdir()


@as_root
def test_a_checkout_copied_with_its_record_gets_a_server_of_its_own(
    site: Site, fresh_site: Site
) -> None:
    copy = fresh_site.places
    copy.var.mkdir()
    copy.var.parent.chmod(0o700)
    with attach_at(site.places) as original:
        shutil.copy(site.places.record, copy.record)

        with attach_at(copy) as attachment:
            assert attachment.address.host != original.address.host
            assert Path(record_of(copy).data) == copy.remote_room / "data"
            assert ask(original.address, "SELECT 1") == ask(attachment.address, "SELECT 1")


@as_root
def test_a_moved_checkout_keeps_its_data_out_of_reach_and_a_second_copy_does_not_get_it(
    fresh_site: Site,
) -> None:
    fresh_site.base.joinpath("a check-out é").chmod(0o700)
    with attach_at(fresh_site.places) as attachment, connect(attachment.address) as connection:
        connection.execute("CREATE TABLE moved AS SELECT 3 AS answer")
    moved = fresh_site.places_at(fresh_site.var.with_name("moved"))
    copied = fresh_site.places_at(fresh_site.var.with_name("copied"))
    shutil.copytree(fresh_site.var, copied.var)
    fresh_site.var.rename(moved.var)

    with attach_at(moved) as attachment:
        assert ask(attachment.address, "SELECT answer FROM moved") == 3

    assert existing_data(moved, record=load_record(moved)) is not None
    assert existing_data(copied, record=load_record(copied)) is None


@as_root
def test_a_path_too_long_for_postgresql_is_worked_around_by_root_and_refused_to_others(
    fresh_site: Site,
) -> None:
    deep = fresh_site.base.joinpath(*["deep" * 50] * 5)
    deep.mkdir(parents=True)
    os.chown(deep, NOBODY.pw_uid, NOBODY.pw_gid)

    refusal = fresh_site.user(deep / "var", *AS_NOBODY).refusal("attach")
    with attach_at(fresh_site.places_at(deep / "other")) as attachment:
        works = ask(attachment.address, "SELECT 1")

    assert "over 900 bytes long" in refusal
    assert works == 1


@as_root
def test_a_var_that_cannot_be_written_is_refused_in_one_line(fresh_site: Site) -> None:
    refusal = fresh_site.user(None, *AS_NOBODY).refusal("attach")

    assert refusal.splitlines()[0] == (
        f"The embedded PostgreSQL cannot write {fresh_site.var}: permission denied."
    )


def test_a_var_that_is_a_file_is_refused_in_one_line(fresh_site: Site) -> None:
    fresh_site.var.write_text("")

    with pytest.raises(VarNotWritableError, match="file exists"):
        attach_at(fresh_site.places)


def test_somebody_elses_files_in_the_place_of_the_data_are_left_alone(fresh_site: Site) -> None:
    fresh_site.places.data.mkdir(parents=True)
    (fresh_site.places.data / "diary.txt").write_text("mine")

    with pytest.raises(ForeignDirectoryError, match="holds no PG_VERSION"):
        attach_at(fresh_site.places)

    assert (fresh_site.places.data / "diary.txt").read_text() == "mine"


def test_settings_for_django_name_socket_and_passfile() -> None:
    address = connection_parameters(Path("/nowhere/var"))

    settings = address.django_settings()

    assert settings["ENGINE"] == "django.db.backends.postgresql"
    assert settings["HOST"] == address.host
    assert settings["OPTIONS"] == {"passfile": "/nowhere/var/postgres.pass"}


def mode_of(path: Path | str) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)
