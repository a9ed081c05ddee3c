"""What can be told about the server of a checkout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from project.postgres import pidfile
from project.postgres.locks import exclusively, is_shared
from project.postgres.places import Places, make_var
from project.postgres.record import load_record


@dataclass(frozen=True, kw_only=True)
class User:
    """A process that is attached."""

    pid: int
    command: str


@dataclass(frozen=True, kw_only=True)
class Status:
    """The state at one moment; None where there is nothing to tell yet."""

    running: bool
    ready: bool
    pid: int | None
    # Who started it: a process that is attached, or one that has gone since.
    parent: str | None
    account: str | None
    version: str | None
    source: str | None
    programs: str | None
    data: str | None
    sockets: str | None
    log: str
    in_use: bool
    # Empty where the system does not list locks, though it may be in use.
    users: tuple[User, ...]


def read_status(places: Places) -> Status:
    """Look at the server without starting, stopping or using it."""
    make_var(places)
    with exclusively(places.mutex):
        in_use = is_shared(places.users)
        record = load_record(places)
        postmaster = pidfile.find_postmaster(Path(record.data)) if record else None
    return Status(
        running=postmaster is not None,
        ready=postmaster is not None and postmaster.ready,
        pid=postmaster.pid if postmaster else None,
        parent=_describe_parent(postmaster.pid) if postmaster else None,
        account=record.user if record else None,
        version=record.version if record else None,
        source=record.source if record else None,
        programs=record.binaries if record else None,
        data=record.data if record else None,
        sockets=record.sockets if record else None,
        log=str(places.log),
        in_use=in_use,
        users=_list_users(places.users),
    )


def _list_users(path: Path) -> tuple[User, ...]:
    pids = sorted(_lock_holders(path))
    return tuple(User(pid=pid, command=_command_of(pid)) for pid in pids)


def _lock_holders(path: Path) -> set[int]:
    # Lines as `1: FLOCK ADVISORY READ 4242 fe:00:1234 0 EOF` (proc(5)). Only the inode is
    # compared: on layered file systems the device differs from what stat tells.
    inode = str(path.stat().st_ino)
    try:
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return set()
    rows = [line.split() for line in lines if " FLOCK " in line and "->" not in line]
    return {int(row[4]) for row in rows if row[5].split(":")[2] == inode}


def _describe_parent(pid: int) -> str:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2].split()
        parent = int(fields[1])
    except (OSError, ValueError, IndexError):
        return "unknown"
    return f"{parent} {_command_of(parent)}"


def _command_of(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "(gone)"
    return " ".join(words).strip()
