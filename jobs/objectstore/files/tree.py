"""
Directories by descriptor: every step is taken from the one before, and follows no link.

A path as text could be swapped for a link to elsewhere between the check and the use. A
descriptor cannot, so nothing outside of the root is ever reached.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence

STEP = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


@contextlib.contextmanager
def opened(root: str, names: Sequence[str], *, make_from: int | None = None) -> Iterator[int]:
    """
    Yield the descriptor of the directory ``names`` below ``root``.

    Directories from place ``make_from`` of the names on are made; from 0, the root too, which
    is the operator's own and may be reached by links. Raises ``OSError``.
    """
    if make_from == 0:
        os.makedirs(root, exist_ok=True)  # noqa: PTH103 (a text that may hold any bytes)
    start = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with _descended(start, names, make_from=make_from) as descriptor:
        yield descriptor


def remove_empty(root: str, names: Sequence[str], *, keep: int) -> None:
    """Remove the directory ``names`` and those above it while they are empty; keep the first."""
    for length in range(len(names), keep, -1):
        try:
            with opened(root, names[: length - 1]) as parent:
                os.rmdir(names[length - 1], dir_fd=parent)
        except OSError:  # in use again, or not to be removed: the bucket's removal will tell
            return


def remove_empty_below(parent: int, name: str) -> None:
    """
    Remove a directory that holds nothing but directories.

    Raises ``OSError`` with ENOTEMPTY when there is anything else in it.
    """
    # Not by recursion: a tree may be deeper than the stack.
    pending = [[name]]
    while pending:
        names = pending[-1]
        with _descended(os.dup(parent), names[:-1]) as above:
            below = _directories(above, names[-1])
            if not below:
                os.rmdir(names[-1], dir_fd=above)
                pending.pop()
            else:
                pending.append([*names, below])


def _directories(above: int, name: str) -> str | None:
    descriptor = os.open(name, STEP, dir_fd=above)
    try:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))
                return entry.name
    finally:
        os.close(descriptor)
    return None


@contextlib.contextmanager
def _descended(
    current: int, names: Sequence[str], *, make_from: int | None = None
) -> Iterator[int]:
    """Take over a descriptor and yield that of a directory below it."""
    try:
        for place, name in enumerate(names):
            below = _step(current, name, make=make_from is not None and place >= make_from)
            os.close(current)
            current = below
        yield current
    finally:
        os.close(current)


def _step(current: int, name: str, *, make: bool) -> int:
    if make:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=current)
    return os.open(name, STEP, dir_fd=current)
