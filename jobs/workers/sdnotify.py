"""
Tells systemd how the process is, where it asked for it (sd_notify(3)).

Without ``NOTIFY_SOCKET`` nothing is sent. Nothing here ever raises: the work does not
depend on who watches it.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Mapping
from functools import cache
from http import HTTPStatus

from jobs.health import answers

logger = logging.getLogger(__name__)


class ServiceManager:
    """The socket that systemd listens on, if there is one."""

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        is_well: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._address = _address(environment.get("NOTIFY_SOCKET", ""))
        # Half of what systemd waits for, as sd_watchdog_enabled(3) recommends.
        self.watchdog_seconds = _watchdog_seconds(environment)
        self._is_well = is_well
        self._clock = clock
        self._next_at = float("-inf")

    def send(self, *lines: str) -> bool:
        """Send assignments; return whether somebody was there to take them."""
        if not self._address:
            return False
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.settimeout(1.0)
                sender.sendto("\n".join(lines).encode("utf-8", "replace"), self._address)
        except (OSError, ValueError) as error:
            logger.debug("sdnotify_failed error=%s", error)
            return False
        return True

    def watchdog(self) -> bool:
        """Say that all is well if it is, and if it is time to; call it every second or so."""
        if self.watchdog_seconds is None or self._clock() < self._next_at or not self._is_well():
            return False
        self._next_at = self._clock() + self.watchdog_seconds
        return self.send("WATCHDOG=1")


def ready(text: str = "") -> None:
    """Say that the process has started."""
    _manager().send("READY=1", *_status(text))


def stopping(text: str = "") -> None:
    """Say that the process has begun to stop."""
    _manager().send("STOPPING=1", *_status(text))


def status(text: str) -> None:
    """Say in one line what the process does, for ``systemctl status``."""
    _manager().send(*_status(text))


def watchdog() -> None:
    """Keep the watchdog quiet while ``/healthz`` is fine; call it every second or so."""
    _manager().watchdog()


@cache
def _manager() -> ServiceManager:
    return ServiceManager(os.environ, is_well=lambda: answers.live().status == HTTPStatus.OK)


def _status(text: str) -> list[str]:
    line = " ".join(text.split())
    return [f"STATUS={line}"] if line else []


def _address(value: str) -> str:
    if value.startswith("@"):
        return "\0" + value[1:]  # Linux's abstract names
    return value if value.startswith("/") else ""


def _watchdog_seconds(environment: Mapping[str, str]) -> float | None:
    microseconds = environment.get("WATCHDOG_USEC", "")
    is_ours = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    if not (is_ours and microseconds.isascii() and microseconds.isdigit()):
        return None
    return int(microseconds) / 2_000_000 or None
