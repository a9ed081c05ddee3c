"""Proves a LISTEN connection alive: what is sent to it must come back in time."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from jobs.errors import ListenSilentError


class EchoProbe:
    """Sends a nonce to a channel of its own, again and again, and waits for each."""

    def __init__(
        self,
        *,
        send: Callable[[str, str], None],
        trouble: Callable[[], str | None],
        every_seconds: float,
        within_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.channel = f"engineroom_probe_{secrets.token_hex(8)}"
        self.proved = False
        self._send = send
        self._trouble = trouble
        self._every_seconds = every_seconds
        self._within_seconds = within_seconds
        self._clock = clock
        self._nonce: str | None = None
        self._sent_at = clock() - every_seconds

    def pulse(self) -> float:
        """
        Send a nonce when one is due; return in how many seconds to call again.

        Raises ListenSilentError when the last nonce did not come back in time.
        """
        passed = self._clock() - self._sent_at
        if self._nonce is not None:
            if passed >= self._within_seconds:
                raise ListenSilentError(
                    seconds=self._within_seconds,
                    was_proved=self.proved,
                    trouble=self._trouble(),
                )
            return self._within_seconds - passed
        if passed < self._every_seconds:
            return self._every_seconds - passed
        self._nonce, self._sent_at = secrets.token_hex(8), self._clock()
        self._send(self.channel, self._nonce)
        return self._within_seconds

    def hear(self, nonce: str) -> bool:
        """Take a nonce that came back; return whether it is the first proof."""
        if nonce != self._nonce:
            return False
        self._nonce = None
        is_first, self.proved = not self.proved, True
        return is_first
