"""The directory of the server's Unix socket: short, private, and nobody else's."""

from __future__ import annotations

import os
import re
import secrets
import stat
from pathlib import Path

from project.postgres.accounts import Account, account_for, can_use
from project.postgres.errors import NoServerAccountError
from project.postgres.places import Places, writing

PORT = 5432
# The kernel takes 107 bytes for the whole path (unix(7)), the BSDs 103.
LONGEST_BASE = 50
PLAIN = re.compile(r"/[A-Za-z0-9/._-]*")
FALLBACK = Path("/tmp")  # noqa: S108 - what is made in it is private and checked


def expected_directory(places: Places) -> Path:
    """Return the directory that a new server's socket is put into; nothing is touched."""
    try:
        uid = account_for(None).uid
    except NoServerAccountError:
        uid = os.geteuid()
    return _bases()[0] / _name(places, uid=uid)


def prepare_directory(places: Places, *, account: Account, recorded: Path | None) -> Path:
    """Make a directory that only `account` (and root) can enter, and return it.

    The recorded one is used again if it still is private; one that another user has made
    under our name is left alone and a new name is taken.
    """
    expected = [base / _name(places, uid=account.uid) for base in _bases()]
    spare = FALLBACK / f"{expected[0].name}-{secrets.token_hex(4)}"
    tried = [*([recorded] if recorded else []), *expected, spare]
    for directory in tried:
        if _make_private(directory, account=account) and can_use(account, directory):
            return directory
    with writing(spare):
        raise PermissionError(f"the user {account.name} can use none of its socket directories")


def socket_path(directory: Path) -> Path:
    """Return the socket's path in its directory."""
    return directory / f".s.PGSQL.{PORT}"


def clear_directory(directory: Path) -> None:
    """Remove the socket and lock of a server that is gone; call it when none is running."""
    socket = socket_path(directory)
    for path in (socket, socket.with_name(socket.name + ".lock")):
        path.unlink(missing_ok=True)


def remove_directory(directory: Path) -> None:
    """Remove the directory of a stopped server, if nothing else is in it."""
    try:
        clear_directory(directory)
        directory.rmdir()
    except OSError:
        return


def _name(places: Places, *, uid: int) -> str:
    return f"engineroom-{uid}-{places.digest}"


def _bases() -> list[Path]:
    own = os.environ.get("TMPDIR", "")
    usable = len(own) <= LONGEST_BASE and PLAIN.fullmatch(own) and Path(own).is_dir()
    return [Path(own), FALLBACK] if usable else [FALLBACK]


def _make_private(directory: Path, *, account: Account) -> bool:
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        status = directory.lstat()
        if status.st_uid == os.geteuid() != account.uid and _is_private(status):
            # Made by root a moment ago, here or in a start that was killed right then.
            os.chown(directory, account.uid, account.gid, follow_symlinks=False)
            status = directory.lstat()
    except OSError:
        return False
    return status.st_uid == account.uid and _is_private(status)


def _is_private(status: os.stat_result) -> bool:
    return stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o077
