"""The server's own lock file, `postmaster.pid`: which process serves a data directory."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

NAME = "postmaster.pid"
STATUS_LINE = 7


@dataclass(frozen=True, kw_only=True)
class Postmaster:
    """A live server process of one data directory."""

    pid: int
    ready: bool


def find_postmaster(data: Path) -> Postmaster | None:
    """Return the live server of `data`, or None: no file, a dead process or another program."""
    lines = _read_lines(data)
    pid = _pid_of(lines)
    if pid is None or not serves(pid, data=data):
        return None
    status = lines[STATUS_LINE].strip() if len(lines) > STATUS_LINE else ""
    return Postmaster(pid=pid, ready=status == "ready")


def serves(pid: int, *, data: Path) -> bool:
    """Whether the process is alive, no zombie, and a server of `data`.

    A process that is none has only got the number of a former server.
    """
    return is_alive(pid) and (_works_in(pid, data=data) or _was_told(pid, data=data))


def is_alive(pid: int) -> bool:
    """Whether the process exists and has not ended; a zombie has."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return _state(pid) not in {"Z", "X"}


def disown_stale_lock(data: Path) -> None:
    """Let the next server start past a lock file whose process is gone; only when none runs.

    PostgreSQL refuses to start while a process of that number exists, be it a zombie that
    nobody reaps or a stranger. It takes the number of its own parent for stale, so that is
    written instead: unlike without the file, it still looks for left-over backends.
    """
    lines = _read_lines(data)
    if _pid_of(lines) is None:
        return
    lines[0] = str(os.getpid())
    with contextlib.suppress(OSError), (data / NAME).open("r+", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
        file.truncate()


def _works_in(pid: int, *, data: Path) -> bool:
    # A server's working directory is its data directory, by whatever path.
    try:
        return Path(f"/proc/{pid}/cwd").samefile(data)
    except OSError:
        # Not a Linux: being alive has to do.
        return not Path("/proc/self/cwd").exists()


def _was_told(pid: int, *, data: Path) -> bool:
    # In a container root may lack the capability to see another user's working directory.
    try:
        return os.fsencode(data) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


def _read_lines(data: Path) -> list[str]:
    try:
        return (data / NAME).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except FileNotFoundError:
        return []


def _pid_of(lines: list[str]) -> int | None:
    try:
        return abs(int(lines[0]))
    except (ValueError, IndexError):
        return None


def _state(pid: int) -> str:
    # The name before the state may itself hold spaces and brackets (proc(5)).
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2][:1]
    except (OSError, UnicodeDecodeError):
        return ""
