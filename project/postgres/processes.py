"""Running PostgreSQL's programs, away from this process's terminal, secrets and settings."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

# Only what the programs need: the site's secrets are not the server's to inherit, and a
# stray PGDATA, PGPORT or PGOPTIONS would send it elsewhere.
KEPT_VARIABLES = ("PATH", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


def clean_environment() -> dict[str, str]:
    """Return the environment for the programs; their messages are in English to be read here."""
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    return {"PATH": os.defpath, **kept, "LC_ALL": "C"}


def run(
    command: Sequence[str],
    *,
    user: Mapping[str, Any] | None = None,
    text: str = "",
    variables: Mapping[str, str] | None = None,
    timeout_seconds: float = 60.0,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end with `text` as its input; raises OSError if it cannot be run.

    `user` are the arguments for `subprocess` that make it run as somebody else.
    """
    return subprocess.run(  # noqa: S603 - the programs are chosen here, no shell sees the arguments
        command,
        check=False,
        capture_output=True,
        input=text,
        encoding="utf-8",
        errors="replace",
        timeout=timeout_seconds,
        cwd="/",
        env={**clean_environment(), **(variables or {})},
        start_new_session=True,
        **(user or {}),
    )


def launch(command: Sequence[str], *, log: int, user: Mapping[str, Any]) -> subprocess.Popen[bytes]:
    """Start a program that writes to the descriptor `log`, in a session of its own.

    So Ctrl-C at the terminal is for the workers, which need the server until they stopped.
    """
    return subprocess.Popen(  # noqa: S603 - as above
        command,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        cwd="/",
        env=clean_environment(),
        start_new_session=True,
        **user,
    )


def last_complaint(output: str) -> str:
    """Return the line of a program's output that says what went wrong."""
    lines = output.strip().splitlines()
    complaints = [line for line in lines if "FATAL:" in line or "error:" in line.lower()]
    return (complaints or lines or ["it said nothing"])[-1].strip()
