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

SHORTEST_SECONDS = 0.5
LONGEST_SECONDS = 10.0
# A whole look takes at most a twentieth of the time.
SHARE = 20


@dataclass(kw_only=True, eq=False)
class Pace:
    """When one process looks at the whole of a queue again, and where it goes on until then."""

    after: int | None = None  # the last id claimed, where pending rows go by their ids
    whole_at: float = 0.0  # monotonic
    # Everything was looked at and the end of it found: the first row to come after that is
    # taken without another look at what is stale, which would keep it waiting.
    is_rested: bool = False

    @property
    def is_quick(self) -> bool:
        """Say whether the next claim may leave something out."""
        return self.is_rested or time.monotonic() < self.whole_at

    def whole_look(self, *, seconds: float, full: bool, last: int | None) -> None:
        """Note a look at everything that lasted so long; quick ones follow if it was full."""
        if full:
            pause = min(max(SHARE * seconds, SHORTEST_SECONDS), LONGEST_SECONDS)
            self.after, self.whole_at = last, time.monotonic() + pause
            self.is_rested = False
        else:
            self.reset()
            self.is_rested = True

    def quick_look(self, *, full: bool, last: int | None) -> None:
        """Note a look at the rest of the queue; one that found the end of it is the last."""
        if not full or (self.after is not None and last is None):
            self.reset()
            return
        self.after = last
        if self.is_rested:
            self.is_rested, self.whole_at = False, time.monotonic() + SHORTEST_SECONDS

    def reset(self) -> None:
        """Look at everything next."""
        self.after, self.whole_at, self.is_rested = None, 0.0, False
