"""
What a claim may leave out because the one before has looked at it.

A claimed row leaves a dead entry at the head of its index. While an old snapshot is open
(a backup, a forgotten session) no entry is ever removed, and every claim would step over
all that were claimed since. So a claim that took a full batch lets the next ones begin
where it ended, and look for stale rows no more, until one comes back short or some time
has passed: a row that lies behind (committed late, given back) is found by then. A queue
is never called empty without a whole look.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

SHORTEST_SECONDS = 0.5
LONGEST_SECONDS = 10.0
# A whole look takes at most a twentieth of the time.
SHARE = 20


@dataclass(frozen=True, kw_only=True)
class Watermark:
    """Where the last claim ended."""

    place: tuple[Any, ...]  # of the order's columns, of the last row
    floor: int = 0  # all unfinished rows have a greater id; known of queues with an order key


@dataclass(kw_only=True, eq=False)
class Pace:
    """When one process looks at the whole of a queue again, and where it goes on until then."""

    longest_seconds: float = LONGEST_SECONDS
    # Also at each wake-up: what it speaks of may lie behind, if it was long in committing.
    looks_back_when_woken: bool = False
    after: Watermark | None = None  # where pending rows are claimed as they came
    whole_at: float = 0.0  # monotonic
    back_at: float = 0.0  # not before: a look costs too much to be had at every wake-up
    # Everything was looked at and the end of it found: the first row to come after that is
    # taken without another look at the rest, which would keep it waiting.
    is_rested: bool = False
    looked_at: float = 0.0  # monotonic; when everything was looked at

    @property
    def is_quick(self) -> bool:
        """Say whether the next claim may leave something out."""
        return self.is_rested or time.monotonic() < self.whole_at

    def whole_look(self, *, seconds: float, full: bool, last: Watermark | None) -> None:
        """Note a look at everything that lasted so long; quick ones follow if it was full."""
        self.looked_at = time.monotonic()
        if full:
            pause = min(max(SHARE * seconds, SHORTEST_SECONDS), self.longest_seconds)
            self.after, self.whole_at = last, time.monotonic() + pause
            self.back_at = time.monotonic() + SHARE * seconds
            self.is_rested = False
        else:
            self.reset()
            self.is_rested = True

    def quick_look(self, *, full: bool, last: Watermark | None) -> None:
        """Note a look at the rest of the queue; one that found the end of it is the last."""
        if not full or (self.after is not None and last is None):
            self.reset()
            return
        self.after = last
        if self.is_rested:
            self.is_rested, self.whole_at = False, time.monotonic() + SHORTEST_SECONDS

    def woken(self) -> None:
        """Look back next, if this queue does so at a wake-up."""
        if self.looks_back_when_woken and self.after is not None:
            self.whole_at = min(self.whole_at, self.back_at)

    def polled(self) -> None:
        """Look at everything next: nobody has spoken of a new row."""
        self.is_rested = False

    def reset(self) -> None:
        """Look at everything next."""
        self.after, self.whole_at, self.is_rested = None, 0.0, False
