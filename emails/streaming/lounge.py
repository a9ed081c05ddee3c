"""Where mails wait to be streamed, the first of them made ready for it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from emails.models import EmailJob
from emails.streaming.ride import Ride
from jobs.claims import Claim

Claimed = tuple[Claim, EmailJob]
FRESH_SECONDS = 0.25  # what was made ready longer ago is looked at again


class Lounge:
    """Mails in their order. Used by one thread."""

    def __init__(
        self,
        ride_of: Callable[[Claim, EmailJob], Ride | None],
        turn_away: Callable[[Claimed], None],
        is_settled: Callable[[], bool],
    ) -> None:
        """
        Wait for rides that `ride_of` makes; a mail for which it makes none is turned away.

        What was made ready is looked at again while something is not settled that may hold
        it back, such as a domain that was throttled meanwhile.
        """
        self._ride_of = ride_of
        self._turn_away = turn_away
        self._is_settled = is_settled
        self._ready: deque[tuple[float, Ride]] = deque()  # with the time
        self._others: deque[Claimed] = deque()  # behind those

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._ready) + len(self._others)

    def add(self, claimed: Claimed) -> None:
        """Let a mail wait behind the others."""
        self._others.append(claimed)

    def next(self) -> Ride | None:
        """Return the first that is still held; None when none waits."""
        while self._ready or self._others:
            if self._ready:
                made_at, ride = self._ready.popleft()
                if time.monotonic() - made_at >= FRESH_SECONDS or not self._is_settled():
                    self._others.appendleft((ride.claim, ride.mail))
                    continue
            else:
                made = self._make()
                if made is None:
                    continue
                ride = made
            if ride.row_id in ride.claim.held:
                return ride
        return None

    def make_ready(self, count: int) -> list[Ride]:
        """See to it that about so many are ready; return those that were not before."""
        made = []
        while self._others and len(self._ready) < count:
            ride = self._make()
            if ride is not None:
                self._ready.append((time.monotonic(), ride))
                made.append(ride)
        return made

    def clear(self) -> list[Claimed]:
        """Return all that wait, and wait for them no more."""
        every = [(ride.claim, ride.mail) for _, ride in self._ready] + list(self._others)
        self._ready.clear()
        self._others.clear()
        return every

    def _make(self) -> Ride | None:
        claimed = self._others.popleft()
        claim, mail = claimed
        if not claim.holds(mail):
            return None
        ride = None
        try:
            ride = self._ride_of(claim, mail)
        finally:
            if ride is None:
                self._turn_away(claimed)
        return ride
