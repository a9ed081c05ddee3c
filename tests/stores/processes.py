"""Server processes of the tests, each with a process group of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.conftest import wait_until

BIN = Path(sys.executable).parent
HOST = "127.0.0.1"
# So that they are killed when the tests end without a word, as after a time-out.
BOUND = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []


class Server:
    """A server on a port of the loopback, with its log in a file."""

    def __init__(self, command: list[str], *, port: int, log: Path) -> None:
        self.command, self.port, self.log = command, port, log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Start it, and wait for nothing."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*BOUND, *self.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_environment(),
                start_new_session=True,
            )

    def wait(self) -> None:
        """Wait until it takes connections; raise with its last words if it ends."""
        wait_until(self._is_up, seconds=30, what=f"{self.command[0]} starts, see {self.log}")

    def send(self, number: signal.Signals) -> None:
        """Send a signal to it and to what it has started."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def kill(self) -> None:
        """End it at once, with all that it has started. Once more does nothing."""
        if self._process is None:
            return
        self.send(signal.SIGKILL)
        self._process.wait(timeout=10)
        self._process = None

    def _is_up(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            tail = self.log.read_text(errors="replace")[-2000:]
            raise AssertionError(f"{self.command[0]} ended with {self._process.returncode}: {tail}")
        with contextlib.suppress(OSError), socket.create_connection((HOST, self.port), timeout=1):
            return True
        return False


def free_ports(count: int) -> list[int]:
    """Return ports that nothing listens on."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]


def _environment() -> dict[str, str]:
    kept = ("HOME", "LANG", "PATH", "TMPDIR", "USER")
    return {name: os.environ[name] for name in kept if name in os.environ}
