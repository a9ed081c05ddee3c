"""Who this process is: host, pid and a random part, made anew after a fork."""

from __future__ import annotations

import os
import secrets
import socket

_known: tuple[int, str] = (0, "")


def process_name() -> str:
    """Return ``host:pid:random``, the same for the life of this process."""
    global _known  # noqa: PLW0603 (one identity per process)
    if _known[0] != os.getpid():
        _known = (os.getpid(), f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}")
    return _known[1]
