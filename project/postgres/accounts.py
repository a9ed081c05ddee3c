"""The operating system's user that the server runs as: PostgreSQL refuses root."""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from project.postgres.errors import NoServerAccountError, NotOurDataDirectoryError
from project.postgres.processes import run

NAMES = ("postgres", "nobody")


@dataclass(frozen=True, kw_only=True)
class Account:
    """A user of this machine."""

    name: str
    uid: int
    gid: int

    def process_options(self) -> dict[str, Any]:
        """Return the arguments for `subprocess` that run a program as this user."""
        if os.geteuid() == self.uid:
            return {}
        groups = os.getgrouplist(self.name, self.gid)
        return {"user": self.uid, "group": self.gid, "extra_groups": groups}


def account_for(data: Path | None, *, names: Sequence[str] = NAMES) -> Account:
    """Return the user to run the server as: the owner of `data` if there is one already.

    Raises NoServerAccountError as root with no user to become, NotOurDataDirectoryError
    when the owner of `data` is neither this process's user nor one that root can become.
    """
    me = os.geteuid()
    owner = data.stat().st_uid if data else None
    if owner is not None and owner != me and (me != 0 or not _exists(owner)):
        raise NotOurDataDirectoryError(data or Path(), owner=_name(owner), user=_name(me))
    if me != 0:
        return _current_account()
    if owner:
        return _account(pwd.getpwuid(owner))
    return _first_account(names)


def can_use(account: Account, directory: Path) -> bool:
    """Whether `account` can enter, list and write `directory`: tried as that user, not guessed."""
    return _succeeds(account, script='cd -- "$1" && test -r . && test -w .', path=directory)


def can_read(account: Account, path: Path) -> bool:
    """Whether `account` can reach and read the file `path`."""
    return _succeeds(account, script='test -r "$1"', path=path)


def _succeeds(account: Account, *, script: str, path: Path) -> bool:
    command = ["/bin/sh", "-c", script, "sh", str(path)]
    return run(command, user=account.process_options()).returncode == 0


def _first_account(names: Sequence[str]) -> Account:
    for name in names:
        try:
            return _account(pwd.getpwnam(name))
        except KeyError:
            continue
    raise NoServerAccountError(names)


def _current_account() -> Account:
    return Account(name=_name(os.geteuid()), uid=os.geteuid(), gid=os.getegid())


def _account(entry: pwd.struct_passwd) -> Account:
    return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid)


def _exists(uid: int) -> bool:
    return _name(uid) != str(uid)


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
