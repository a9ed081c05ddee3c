"""Where the files of the embedded server are."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from project.postgres.errors import VarNotWritableError

STATE_ROOT = Path("/var/lib/engineroom")


@dataclass(frozen=True, kw_only=True)
class Places:
    """The paths of one checkout's embedded server; nothing is touched by asking for them."""

    var: Path
    # For data directories of checkouts, and copies of programs, that the server's user
    # cannot reach where they are.
    state_root: Path = STATE_ROOT

    @property
    def data(self) -> Path:
        """The data directory, unless the record says that it is elsewhere."""
        return self.var / "postgres"

    @property
    def remote_room(self) -> Path:
        """Where the data directory goes when `var` is out of reach of the server's user."""
        name = self.var.parent.name.encode("ascii", "ignore").decode().replace(" ", "-")
        return self.state_root / f"{name[:40] or 'checkout'}-{self.digest}"

    @property
    def digest(self) -> str:
        """Twelve hex digits that tell this `var` from any other."""
        return hashlib.sha256(os.fsencode(self.var)).hexdigest()[:12]

    @property
    def record(self) -> Path:
        """What is known about the server, as JSON."""
        return self.var / "postgres.json"

    @property
    def passfile(self) -> Path:
        """The passwords, in libpq's form."""
        return self.var / "postgres.pass"

    @property
    def log(self) -> Path:
        """What the server prints."""
        return self.var / "postgres.log"

    @property
    def mutex(self) -> Path:
        """Held alone while the server is started or stopped."""
        return self.var / "postgres.lock"

    @property
    def users(self) -> Path:
        """Held in common by every process that uses the server."""
        return self.var / "postgres.users"


def places_of(var: Path) -> Places:
    """Return the places of `var`, the same for every way of writing its path."""
    return Places(var=Path(os.path.realpath(var)))


def make_var(places: Places) -> None:
    """Create `var` if need be; VarNotWritableError if that is refused."""
    with writing(places.var):
        places.var.mkdir(parents=True, exist_ok=True)


def make_open(directory: Path) -> None:
    """Create a directory that every user can pass; one that exists is left as it is."""
    with writing(directory):
        try:
            directory.mkdir()
        except FileExistsError:
            return
        # The umask of this process may be stricter.
        directory.chmod(0o755)


def open_in_var(path: Path, *, flags: int) -> int:
    """Open `path`, creating it with mode 0600; returns a descriptor.

    What root creates belongs to the owner of the directory, so that a single command run
    as root does not lock the owner out.
    """
    with writing(path):
        descriptor = os.open(path, flags | os.O_CREAT, 0o600)
        owner, made = path.parent.stat(), os.fstat(descriptor)
        if os.geteuid() == 0 and made.st_uid != owner.st_uid:
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
        return descriptor


def replace_in_var(path: Path, *, content: str) -> None:
    """Write the whole file at once: a reader sees the old one or the new one."""
    scratch = path.with_name(path.name + ".new")
    descriptor = open_in_var(scratch, flags=os.O_WRONLY | os.O_TRUNC)
    with writing(path):
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(content)
        scratch.replace(path)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a refusal of the operating system into a VarNotWritableError."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise VarNotWritableError(path, reason=reason) from error
