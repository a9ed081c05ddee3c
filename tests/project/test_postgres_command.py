"""`manage.py postgres`: what a person sees and types."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from project.postgres.attachment import attach_at
from tests.project.postgres_site import ROOT, Site, fresh_site, record_of, site, used_site

__all__ = ["fresh_site", "site", "used_site"]
pytestmark = [pytest.mark.timeout(120), pytest.mark.crash]


def test_status_of_a_fresh_checkout_says_that_nothing_runs_and_starts_nothing(
    fresh_site: Site,
) -> None:
    result = manage(fresh_site, "status")

    assert result.returncode == 0
    assert "server:     not running" in result.stdout
    assert not fresh_site.places.data.exists()


def test_status_tells_version_places_and_users_of_a_running_server(site: Site) -> None:
    with attach_at(site.places):
        result = manage(site, "status")
        told = json.loads(manage(site, "status", "--json").stdout)

    record = record_of(site.places)
    assert f"running, process {record.ready_pid}" in result.stdout
    for text in (record.version, record.source, record.data, record.sockets, record.binaries):
        assert text in result.stdout
    assert told["running"] is told["ready"] is told["in_use"] is True
    assert told["parent"].startswith(f"{os.getpid()} ")
    if Path("/proc/locks").exists():
        assert [user["pid"] for user in told["users"]] == [os.getpid()]
        assert f"{os.getpid()} " in result.stdout


def test_psql_starts_the_server_passes_its_arguments_on_and_stops_it(site: Site) -> None:
    result = manage(site, "psql", "-XAtc", "SELECT current_user, 'a b'", "-v", "x=1")

    assert (result.returncode, result.stdout) == (0, "engineroom|a b\n")
    assert "not running" in manage(site, "status").stdout


def test_psql_on_a_script_that_fails_exits_1(site: Site) -> None:
    result = manage(site, "psql", "-Xc", "SELECT nonsense")

    assert result.returncode == 1
    assert 'column "nonsense" does not exist' in result.stderr


def test_stop_is_refused_while_the_server_is_used_unless_forced(site: Site) -> None:
    with attach_at(site.places):
        refused = manage(site, "stop")
        still = manage(site, "status")
        forced = manage(site, "stop", "--force")
        after = manage(site, "status")

    assert refused.returncode == 1
    assert "is in use" in refused.stderr
    assert "running, process" in still.stdout
    assert (forced.returncode, forced.stdout) == (0, "Stopped.\n")
    assert "not running" in after.stdout


def test_stop_ends_a_server_whose_owner_was_killed(site: Site) -> None:
    owner = site.user()
    owner.ask("attach")
    owner.kill()

    result = manage(site, "stop")

    assert (result.returncode, result.stdout) == (0, "Stopped.\n")
    assert manage(site, "stop").stdout == "It was not running.\n"


@pytest.mark.parametrize("action", ["status", "psql", "stop"])
def test_with_a_database_url_there_is_no_embedded_server_to_look_at(
    fresh_site: Site, action: str
) -> None:
    url = {"DATABASE_URL": "postgres://a@127.0.0.1:1/b", "SECRET_KEY": "long" * 20}

    result = manage(fresh_site, action, variables=url)

    assert result.returncode == 1
    assert "DATABASE_URL is set: the embedded PostgreSQL is not used" in result.stderr


def test_a_server_that_cannot_start_is_exit_code_3(fresh_site: Site) -> None:
    fresh_site.places.data.mkdir(parents=True)
    (fresh_site.places.data / "diary.txt").write_text("mine")

    result = manage(fresh_site, "psql", "-c", "SELECT 1")

    assert result.returncode == 3
    assert "holds no PG_VERSION" in result.stderr.splitlines()[0]


def manage(
    site: Site, *arguments: str, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    unset = ("DATABASE_URL", "DIRECT_DATABASE_URL", "DJANGO_SETTINGS_MODULE")
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    return subprocess.run(
        [sys.executable, "manage.py", "postgres", *arguments],
        check=False,
        capture_output=True,
        encoding="utf-8",
        cwd=ROOT,
        env=kept | {"ENGINEROOM_VAR": str(site.var)} | (variables or {}),
        timeout=60,
    )
