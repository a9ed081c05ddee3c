"""
The rows that this process holds, and the gate for rows that may kill it.

A living worker refreshes every claim that it holds, so that a slow row is not done twice
while its worker lives.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobs.claims.claim import Claim


class Holdings:
    """The open claims of one process. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._claims: list[Claim] = []

    def add(self, claim: Claim) -> None:
        with self._lock:
            self._claims.append(claim)

    def discard(self, claim: Claim) -> None:
        with self._lock:
            if claim in self._claims:
                self._claims.remove(claim)

    def __iter__(self) -> Iterator[Claim]:
        with self._lock:
            return iter(list(self._claims))

    def count(self) -> int:
        """Return how many rows are held."""
        return sum(len(claim.held) for claim in self)


class SuspectGate:
    """
    Lets one stale row whose work had begun into the process at a time, over all queues.

    Rows that die together turn stale together; run together, they would die again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def try_enter(self) -> bool:
        return self._lock.acquire(blocking=False)

    def leave(self) -> None:
        self._lock.release()


holdings = Holdings()
suspect_gate = SuspectGate()
