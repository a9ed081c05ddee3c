"""Starting and stopping one server process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from project.postgres import pidfile, sockets
from project.postgres.accounts import Account
from project.postgres.binaries import Binaries
from project.postgres.errors import StartError, StopError
from project.postgres.places import Places, open_in_var
from project.postgres.processes import last_complaint, launch

# Crash recovery replays what was written since the last checkpoint.
READY_SECONDS = 120.0
# The backends of a killed server need a moment to leave.
RETRY_SECONDS = 5.0
RETRIED = ("lock file", "pre-existing shared memory block")
# A fast shutdown writes a checkpoint; after that long the next start shall recover instead.
STOP_SECONDS = 60.0
QUIT_SECONDS = 10.0
POLL_SECONDS = 0.02


@dataclass(frozen=True, kw_only=True)
class Server:
    """What it takes to start the server of a data directory."""

    places: Places
    data: Path
    sockets: Path
    binaries: Binaries
    account: Account

    def command(self, *options: str) -> list[str]:
        """Return the command line; what must hold stands here, the rest in postgresql.conf."""
        must = (
            "listen_addresses=",
            f"port={sockets.PORT}",
            f"unix_socket_directories={self.sockets}",
            "logging_collector=off",
            "cluster_name=engineroom",
            *options,
        )
        settings = [part for option in must for part in ("-c", option)]
        return [self.binaries.program("postgres"), "-D", str(self.data), *settings]


class _RefusedError(Exception):
    pass


def start(server: Server, *options: str) -> int:
    """Start the server as a child of this process and return its number once it is ready.

    Call it under the mutex, when no server of the data directory runs; raises StartError.
    """
    deadline = time.monotonic() + RETRY_SECONDS
    while True:
        try:
            return _start_once(server, *options)
        except _RefusedError as error:
            reason = str(error)
            if time.monotonic() > deadline or not any(text in reason for text in RETRIED):
                raise StartError(server.data, reason=reason, log=server.places.log) from error
            time.sleep(0.1)


def stop(pid: int) -> None:
    """Stop the server: a fast shutdown, after a minute an immediate one; waits for its end."""
    for number, seconds in ((signal.SIGINT, STOP_SECONDS), (signal.SIGQUIT, QUIT_SECONDS)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        if wait_until(lambda: has_ended(pid), seconds=seconds):
            return
    raise StopError(pid, seconds=STOP_SECONDS + QUIT_SECONDS)


def has_ended(pid: int) -> bool:
    """Whether the server process is gone; reaps it if it was a child of this process."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    return not pidfile.is_alive(pid)


def wait_until(condition: Callable[[], bool], *, seconds: float) -> bool:
    """Poll `condition`; whether it came true within that time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _start_once(server: Server, *options: str) -> int:
    pidfile.disown_stale_lock(server.data)
    sockets.clear_directory(server.sockets)
    log = open_in_var(server.places.log, flags=os.O_WRONLY | os.O_APPEND)
    try:
        offset = os.fstat(log).st_size
        child = launch(server.command(*options), log=log, user=server.account.process_options())
    finally:
        os.close(log)
    try:
        _wait_until_ready(child, server=server, offset=offset)
    except BaseException:
        if child.returncode is None:
            stop(child.pid)
        raise
    finally:
        # From here on it is known by its number alone, to us as to the processes that adopt
        # it; else Popen complains of a program that outlives it.
        child.returncode = child.returncode or 0
    return child.pid


def _wait_until_ready(child: subprocess.Popen[bytes], *, server: Server, offset: int) -> None:
    def is_settled() -> bool:
        return child.poll() is not None or _is_ready(child.pid, data=server.data)

    settled = wait_until(is_settled, seconds=READY_SECONDS)
    if not settled:
        raise _RefusedError(f"it was not ready after {READY_SECONDS:.0f} s")
    if child.poll() is not None:
        raise _RefusedError(_last_complaint(server.places.log, offset=offset))


def _is_ready(pid: int, *, data: Path) -> bool:
    postmaster = pidfile.find_postmaster(data)
    return postmaster is not None and postmaster.ready and postmaster.pid == pid


def _last_complaint(log: Path, *, offset: int) -> str:
    with log.open("rb") as file:
        file.seek(offset)
        return last_complaint(file.read().decode(errors="replace"))
