"""
One pass over a queue: claim, hand rows to threads, settle, until nothing is due.

A wake-up that lands during the pass makes it look once more. At a stop, rows not begun are
released at once and those in flight may go on until the grace ends.
"""

from __future__ import annotations

import enum
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jobs import notifier
from jobs.claims import Claim, ClaimPolicy, claim_rows
from jobs.claims.burial import bury_exhausted
from jobs.claims.claim import Following
from jobs.claims.policy import Counts
from jobs.claims.taking import complete_and_claim
from jobs.context import RunContext
from jobs.declarations import job
from jobs.models.run import Trigger
from jobs.queues import QueueRow
from jobs.workers.handlers import HandlerThreads, close_broken_connections
from jobs.workers.row_work import GiveUp, Outcome, RowHandler, RowWork, Waiting

logger = logging.getLogger(__name__)
LOOK_SECONDS = 0.25
# All handlers are busy and none has begun a row for so long: what waits behind them goes back,
# since another worker may be free.
STALLED_SECONDS = 2.0


class QueuePass:
    """The pass of one queue in one process."""

    def __init__(
        self, context: RunContext, policy: ClaimPolicy, work: RowWork, threads: HandlerThreads
    ) -> None:
        self.context = context
        self.policy = policy
        self._work = work
        self._threads = threads
        self._unstarted: deque[tuple[Claim, QueueRow]] = deque()
        self._in_flight: dict[tuple[object, int], tuple[Claim, QueueRow]] = {}
        # What each thread works on, and what it has taken to follow that.
        self._works_on: dict[int, tuple[Claim, int]] = {}
        self._follows: dict[int, tuple[Claim, QueueRow]] = {}
        self._changed = threading.Condition()
        self._may_have_more = True
        self._moved_at = time.monotonic()  # when a row was last begun

    def run(self) -> None:
        """Work until nothing is due and nothing is in flight, or until the stop."""
        try:
            self._run()
        finally:
            # There are some if the database went away: nobody would work on them here, and
            # refreshed they would never turn stale.
            with self._changed:
                left = list(self._unstarted)
                self._unstarted.clear()
            for claim, row in left:
                claim.forget(row)

    def _run(self) -> None:
        _note_trigger(self.context, self.policy)
        buried = False
        while not self.context.should_stop():
            self._refill()
            if self.is_held:
                self._release_unstarted()
            elif self._is_waiting and self._is_stalled():
                self._share_unstarted()
            self._dispatch()
            if not buried:
                _bury_exhausted(self.context, self.policy)
                buried = True
            if self._is_done():
                return
            self._wait()
            self.context.checkpoint()
        self._stop()

    def _is_done(self) -> bool:
        if self._in_flight or self._is_waiting:
            return False
        # Asked last: a row in flight may have woken the pass before it ended.
        return not self._may_have_more and not self.context.woken.is_set()

    def claim(self, *, limit: int) -> Claim | None:
        """Claim up to so many rows. Overridden by a queue that must hold back at times."""
        return claim_rows(self.policy, limit=limit)

    @property
    def is_held(self) -> bool:
        """Whether rows that were claimed and not begun are to be given back at once."""
        return False

    def _refill(self) -> None:
        self._hear_wake_up()
        room = self._room()
        while self._may_have_more and room > 0 and not self.context.should_stop():
            claim = self.claim(limit=room)
            if claim is None:
                self._may_have_more = False
                return
            self._take_in(claim)
            room = self._room()

    def _hear_wake_up(self) -> None:
        if self.context.woken.is_set():
            self.context.woken.clear()
            self.policy.pace.woken()
            self._may_have_more = True

    def _take_in(self, claim: Claim) -> None:
        """Have the rows of a claim wait for their turn."""
        self.context.tally(claimed=len(claim.rows))
        with self._changed:
            claim.follow = self._follow
            self._line_up(claim)

    def _line_up(self, claim: Claim) -> None:
        """Put rows in the line. Overridden where there is more than one."""
        self._unstarted.extend((claim, row) for row in claim.rows)

    def _room(self) -> int:
        """Return how many rows may be claimed now."""
        free = self._threads.size - len(self._in_flight)
        if self.policy.counts is Counts.ON_CLAIM:
            # A claim is an attempt: no more rows than there are free handlers.
            return max(0, free - len(self._unstarted))
        if len(self._unstarted) >= self._threads.size or self._is_stalled():
            return 0
        return self.policy.batch - len(self._unstarted)

    def _is_stalled(self) -> bool:
        is_full = self._in_work >= self._threads.size
        return is_full and time.monotonic() - self._moved_at > STALLED_SECONDS

    @property
    def _in_work(self) -> int:
        """How many rows are worked on."""
        return len(self._in_flight)

    @property
    def _is_waiting(self) -> bool:
        """Whether rows wait for their turn."""
        return bool(self._unstarted)

    def _share_unstarted(self) -> None:
        """Give back what waits behind rows that take long, and tell other workers of it."""
        self._release_unstarted()
        notifier.poke(self.policy.queue, using=self.policy.using)

    def _dispatch(self) -> None:
        while begun := self._begin_next():
            self._hand_on(*begun)

    def _hand_on(self, claim: Claim, row: QueueRow) -> None:
        """Have a row that is in flight worked on by a thread."""
        self._threads.submit(lambda: self._run_rows(claim, row))

    def _begin_next(self, *, ending: int = 0) -> tuple[Claim, QueueRow] | None:
        """Take the next row out of the queue's hands into a handler's, if one is free."""
        with self._changed:
            while len(self._in_flight) - ending < self._threads.size:
                taken = self._take_unstarted()
                if taken is None:
                    return None
                claim, row = taken
                if claim.holds(row):
                    self._in_flight[claim.token, row.pk] = (claim, row)
                    self._moved_at = time.monotonic()
                    return claim, row
        return None

    def _take_unstarted(self) -> tuple[Claim, QueueRow] | None:
        """Take the first row for a thread. Overridden where not every row needs one."""
        return self._unstarted.popleft() if self._unstarted else None

    def _run_rows(self, claim: Claim, row: QueueRow) -> None:
        """Work on a row and on those after it: a thread that goes on costs no hand-over."""
        following: tuple[Claim, QueueRow] | None = (claim, row)
        while following is not None:
            following = self._run_row(*following)
            close_broken_connections()

    def _run_row(self, claim: Claim, row: QueueRow) -> tuple[Claim, QueueRow] | None:
        """Work on one row; return the next one, which is then in flight."""
        has_ended = False
        thread = threading.get_ident()
        self._works_on[thread] = (claim, row.pk)
        try:
            self._work.work(claim, row)
            has_ended = True
        finally:
            with self._changed:
                self._in_flight.pop((claim.token, row.pk), None)
                del self._works_on[thread]
                following = self._taken_to_follow(thread, has_ended=has_ended)
                if self.policy.most_in_work is not None:
                    self._may_have_more = True  # there is room for one, here or elsewhere
                if has_ended and following is None:
                    following = self._begin_following()
                if following is None or len(self._unstarted) < self._threads.size:
                    self._changed.notify_all()
        if self.policy.most_in_work is not None:
            notifier.poke(self.policy.queue, using=self.policy.using)
        return following

    def _begin_following(self, *, ending: int = 0) -> tuple[Claim, QueueRow] | None:
        if self.context.should_stop() or self.is_held:
            return None
        return self._begin_next(ending=ending)

    def _follow(self, claim: Claim, row_id: int) -> Following | None:
        """Take the row that this thread works on next, when it settles its own."""
        thread = threading.get_ident()
        with self._changed:
            if self._works_on.get(thread) != (claim, row_id) or thread in self._follows:
                return None
            following = self._begin_following(ending=1)
            if following is None:
                return None
            self._follows[thread] = following
        return Following(claim=following[0], row=following[1])

    def _taken_to_follow(self, thread: int, *, has_ended: bool) -> tuple[Claim, QueueRow] | None:
        """Return the row that was taken to be next; put it back if this thread cannot go on."""
        taken = self._follows.pop(thread, None)
        if taken is None or (has_ended and taken[0].holds(taken[1])):
            return taken
        claim, row = taken
        self._in_flight.pop((claim.token, row.pk), None)
        if claim.holds(row):
            self._unstarted.appendleft((claim, row))
        return None

    def _wait(self) -> None:
        """Wait until a row has ended, or a while, in which a wake-up may have come."""
        with self._changed:
            if self._in_flight and not self.context.woken.is_set():
                self._changed.wait(LOOK_SECONDS)

    def _stop(self) -> None:
        self._release_unstarted()
        while self._in_flight and not self.context.stop.is_over:
            with self._changed:
                self._changed.wait(min(LOOK_SECONDS, self.context.stop.remaining_seconds))
        with self._changed:
            left = list(self._in_flight.values())
        for claim, row in left:
            self._interrupt(claim, row)

    def _interrupt(self, claim: Claim, row: QueueRow) -> None:
        logger.warning("interrupted queue=%s id=%s", self.policy.queue, row.pk)
        self._work.interrupt(claim, row)
        self.context.tally(interrupted=1)

    def _release_unstarted(self) -> None:
        by_claim: dict[Claim, list[QueueRow]] = {}
        with self._changed:
            for claim, row in self._unstarted:
                by_claim.setdefault(claim, []).append(row)
            self._unstarted.clear()
        for claim, rows in by_claim.items():
            self.context.tally(released=claim.release(*rows))


@dataclass(kw_only=True)
class QueueThreads:
    """The handler threads of each queue of this process."""

    threads: dict[str, HandlerThreads]

    def of(self, policy: ClaimPolicy) -> HandlerThreads:
        """Return the queue's threads, made anew when the policy's number has changed."""
        known = self.threads.get(policy.queue)
        if known is None or known.size != policy.handlers:
            known = self.threads[policy.queue] = HandlerThreads(
                f"{policy.queue}-handler", size=policy.handlers
            )
        return known


queue_threads = QueueThreads(threads={})


class Next(enum.Enum):
    """What a pass over whole claims does next."""

    AGAIN = "again"  # do more of what needs no claim
    CLAIM = "claim"
    END = "end"  # nothing is left, unless a wake-up came meanwhile


def work_queue(context: RunContext, policy: ClaimPolicy, handle: Callable[[Any], Outcome]) -> None:
    """Run one pass, each row by a function that returns an outcome or raises."""
    work = RowHandler(context, handle)
    QueuePass(context, policy, work, queue_threads.of(policy)).run()


def work_whole_claims(
    context: RunContext,
    policy: ClaimPolicy,
    handle: Callable[[Claim], None],
    *,
    ahead: Callable[[], Next] = lambda: Next.CLAIM,
) -> None:
    """
    Run one pass, each claim by one call of a function that takes all of its rows.

    The function settles the rows; those that it leaves are completed, and an exception
    fails them. ``ahead`` does what needs no claim before one is made, and says what is next.
    """
    _note_trigger(context, policy)
    claim: Claim | None = None
    buried = False
    while not context.should_stop():
        if context.woken.is_set():
            context.woken.clear()
            policy.pace.woken()
        step = Next.CLAIM if claim is not None else ahead()
        if step is not Next.CLAIM:
            if step is Next.END and not context.woken.is_set():
                return
            context.checkpoint()
            continue
        claim = claim or claim_rows(policy)
        found = claim is not None
        if claim is not None:
            context.tally(claimed=len(claim.rows))
            claim = _work_whole(context, claim, handle)
            context.checkpoint()
        if not buried:
            _bury_exhausted(context, policy)
            buried = True
        if not found:
            return
    if claim is not None:
        context.tally(released=claim.release())


def _note_trigger(context: RunContext, policy: ClaimPolicy) -> None:
    """A pass that nobody was woken for begins with a look at everything."""
    if context.trigger is not Trigger.NOTIFY:
        policy.pace.polled()


def _bury_exhausted(context: RunContext, policy: ClaimPolicy) -> None:
    """Once in a pass, after its first claim: what was just enqueued need not wait for it."""
    dead = bury_exhausted(policy)
    if dead:
        context.tally(dead=len(dead))


def _work_whole(context: RunContext, claim: Claim, handle: Callable[[Claim], None]) -> Claim | None:
    """Hand a claim on and settle it; return the next claim if one came with it."""
    try:
        handle(claim)
    except Exception as error:  # noqa: BLE001 (one bad claim holds up no other)
        logger.warning(
            "claim_failed queue=%s rows=%s error=%s",
            claim.policy.queue,
            len(claim.rows),
            type(error).__name__,
        )
        for row in list(claim.held.values()):
            context.tally(failed=claim.retry(row, error))
        return None
    if context.should_stop():
        context.tally(done=claim.complete())
        return None
    done, following = complete_and_claim(claim)
    context.tally(done=done)
    return following


def queue_worker(
    job_id: str, *, policy: Callable[[], ClaimPolicy], **options: Any
) -> Callable[[Callable[[Any], Outcome]], Callable[[Any], Outcome]]:
    """
    Declare the decorated function of one row as the work of a queue.

    It returns None (done), ``Waiting`` or ``GiveUp``, or raises (retried by the backoff).
    The options are those of ``jobs.declarations.job``.
    """

    def declare(handle: Callable[[Any], Outcome]) -> Callable[[Any], Outcome]:
        def run_once(context: RunContext) -> None:
            work_queue(context, policy(), handle)

        run_once.__wrapped__ = handle  # type: ignore[attr-defined]  # owner_file unwraps it
        job(job_id, policy=policy, singleton=False, **options)(run_once)
        return handle

    return declare


__all__ = [
    "GiveUp",
    "Next",
    "Outcome",
    "QueuePass",
    "RowHandler",
    "RowWork",
    "Waiting",
    "queue_threads",
    "queue_worker",
    "work_queue",
    "work_whole_claims",
]
