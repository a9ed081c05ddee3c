"""Locks between the processes of one checkout, by flock(2): they end with their process."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from project.postgres.errors import LockTimeoutError
from project.postgres.places import open_in_var

MUTEX_SECONDS = 180.0
POLL_SECONDS = 0.02


@contextmanager
def exclusively(path: Path, *, timeout_seconds: float = MUTEX_SECONDS) -> Iterator[None]:
    """Hold `path` alone; LockTimeoutError when others keep it for longer than the timeout."""
    descriptor = open_in_var(path, flags=os.O_RDWR)
    try:
        _wait_for_exclusive(descriptor, path=path, timeout_seconds=timeout_seconds)
        yield
    finally:
        release(descriptor)


def share(path: Path) -> int:
    """Take a shared lock on `path` and return its descriptor; call it under the mutex only."""
    descriptor = open_in_var(path, flags=os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def release(descriptor: int) -> None:
    """Give the lock up and close the descriptor.

    The unlock is explicit: a child forked meanwhile has the same open file, and closing
    ours alone would leave the lock with the child.
    """
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def is_shared(path: Path) -> bool:
    """Whether any process holds `path` in common; call it under the mutex only."""
    descriptor = open_in_var(path, flags=os.O_RDWR)
    try:
        return not _try_exclusive(descriptor)
    finally:
        release(descriptor)


def _wait_for_exclusive(descriptor: int, *, path: Path, timeout_seconds: float) -> None:
    deadline = time.monotonic() + timeout_seconds
    while not _try_exclusive(descriptor):
        if time.monotonic() > deadline:
            raise LockTimeoutError(path, seconds=timeout_seconds)
        time.sleep(POLL_SECONDS)


def _try_exclusive(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
