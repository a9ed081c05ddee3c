"""Postfix's ``smtp-sink``: an SMTP server in C that takes everything and keeps nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.bench.workers import wait_until

PATHS = ("/usr/sbin/smtp-sink", "/usr/lib/postfix/sbin/smtp-sink", "/usr/libexec/postfix/smtp-sink")


class NoSinkError(RuntimeError):
    """No ``smtp-sink`` on this machine."""

    def __init__(self) -> None:
        super().__init__(
            "smtp-sink was not found; it comes with postfix (apt-get install postfix, which"
            " need not run)."
        )


@contextlib.contextmanager
def sink(*, pipelining: bool = True) -> Iterator[int]:
    """Run a sink; give its port."""
    port = _free_port()
    command = [_program(), *(() if pipelining else ("-p",)), f"127.0.0.1:{port}", "128"]
    if os.geteuid() == 0:
        command[1:1] = ["-u", "nobody"]
    process = subprocess.Popen(command, cwd="/")
    try:
        wait_until(lambda: _answers(port), seconds=20)
        yield port
    finally:
        process.terminate()
        process.wait(20)


def _program() -> str:
    found = shutil.which("smtp-sink") or next((p for p in PATHS if Path(p).exists()), None)
    if found is None:
        raise NoSinkError
    return found


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as client:
            return client.recv(4).startswith(b"220")
    except OSError:
        return False
