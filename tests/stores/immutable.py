"""Files that even root cannot delete, for objects that a store cannot let go."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator

import pytest


@contextlib.contextmanager
def immutable(path: str) -> Iterator[None]:
    """Let nobody change a file or what is in a directory, while the block lasts."""
    marked = subprocess.run(["chattr", "+i", path], capture_output=True, check=False)
    if marked.returncode:
        pytest.skip("this file system has no immutable files, or this user may not make one")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", path], check=True)
