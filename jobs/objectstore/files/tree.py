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
    with _descended(_open_root(root), names, make_from=make_from) as descriptor:
        yield descriptor


def remove_empty(root: str, names: Sequence[str], *, keep: int) -> None:
    """Remove the directory ``names`` and those above it while they are empty; keep the first."""
    for length in range(len(names), keep, -1):
        try:
            with opened(root, names[: length - 1]) as parent:
                os.rmdir(names[length - 1], dir_fd=parent)
        except OSError as error:
            if error.errno not in NOT_THERE:  # in use, or one that the bucket's removal tells of
                return


def remove_empty_below(parent: int, name: str) -> None:
    """
    Remove a directory that holds nothing but directories.

    Raises ``OSError`` with ENOTEMPTY when there is anything else in it.
    """
    # Not by recursion: a tree may be deeper than the stack.
    path = [name]
    levels = [_folders(parent, path)]
    while levels:
        if levels[-1]:
            path.append(levels[-1].pop())
            levels.append(_folders(parent, path))
        else:
            levels.pop()
            with _descended(os.dup(parent), path[:-1]) as above:
                os.rmdir(path.pop(), dir_fd=above)


def _folders(parent: int, path: Sequence[str]) -> list[str]:
    with _descended(os.dup(parent), path) as descriptor, os.scandir(descriptor) as found:
        entries = list(found)
        if all(entry.is_dir(follow_symlinks=False) for entry in entries):
            return [entry.name for entry in entries]
    raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))


def _open_root(root: str) -> int:
    try:
        return os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        # No store is there: that says nothing of its buckets. A disk may not be mounted.
        raise OSError(errno.ENODEV, f"the directory {root} is not there") from None


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
