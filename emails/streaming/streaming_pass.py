"""A pass that streams mail, and gives to threads what is not to be streamed."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from django.db import DatabaseError, InterfaceError

from emails.claiming import MailPass
from emails.delivery import SMTPTransport
from emails.models import EmailJob
from emails.streaming.feeder import Feeder
from emails.streaming.lines import Lines
from emails.streaming.ongoing import Ongoing
from emails.streaming.ride import Ride, is_small
from emails.streaming.stream import Stream
from jobs.claims import Claim, ClaimPolicy
from jobs.context import RunContext
from jobs.queues import QueueRow
from jobs.workers.queue_pass import LOOK_SECONDS

if TYPE_CHECKING:
    from emails.processor import MailWork

FEW = 60  # of what waits to be streamed; then more is claimed
FRESH_SECONDS = 0.25  # what was made ready longer ago is looked at again


class StreamingPass(MailPass):
    """
    A pass that streams mail over the connections of one SMTP server.

    What is not to be streamed, or cannot be any more, has a thread to itself.
    """

    def __init__(
        self, context: RunContext, policy: ClaimPolicy, work: MailWork, transport: SMTPTransport
    ) -> None:
        super().__init__(context, policy, work)
        self._lines = Lines(transport.pool, submit=self._threads.submit)
        self._stream = Stream(self._lines, self)
        self._to_stream: set[int] = set()  # of what has not begun
        self._coming: dict[int, tuple[float, Ride]] = {}  # of those, with the time
        self._feeder = Feeder(self._threads.submit, self._lines.ring)

    def run(self) -> None:
        """Work until nothing is due and nothing is on its way, or until the stop."""
        try:
            super().run()
        finally:
            for ride in self._stream.rides:  # there are none, unless something failed
                ride.claim.forget(ride.mail)
            self._stream.close()

    def next(self) -> Ride | None:
        """Return the next mail to be streamed."""
        while not (self.context.should_stop() or self.is_held):
            with self._changed:
                taken = self._taken(to_stream=True)
            if taken is None:
                return None
            claim, mail = taken
            if not claim.holds(mail):
                continue
            ride = None
            try:
                ride = self._ride_of(claim, cast("EmailJob", mail))
            finally:
                if ride is None:
                    with self._changed:
                        self._unstarted.append(taken)
            if ride is not None:
                self._moved_at = time.monotonic()
                return ride
        return None

    def coming(self, count: int) -> list[Ride]:
        """Return mails that will be next and of which this was not told before."""
        found = []
        with self._changed:
            following = list(itertools.islice(self._unstarted, count))
        for claim, mail in following:
            if mail.pk in self._to_stream and mail.pk not in self._coming and claim.holds(mail):
                ride = self._mail_work.ride_of(claim, cast("EmailJob", mail))
                if ride is None:
                    self._to_stream.discard(mail.pk)
                else:
                    self._coming[mail.pk] = (time.monotonic(), ride)
                    found.append(ride)
        return found

    def _ride_of(self, claim: Claim, mail: EmailJob) -> Ride | None:
        made_at, ride = self._coming.pop(mail.pk, (0.0, None))
        if ride is not None and time.monotonic() - made_at < FRESH_SECONDS:
            return ride
        return self._mail_work.ride_of(claim, mail)

    def departs(self, ride: Ride) -> None:
        """Note that a server may have a mail from now on."""
        self._mail_work.departs(ride)

    def arrived(self, rides: Sequence[Ride]) -> None:
        """Count mails that are sent."""
        self._mail_work.arrived(rides)

    def lost(self, ride: Ride) -> None:
        """Count a mail that was taken away."""
        self._mail_work.lost(ride)

    def strays(self, ride: Ride, ongoing: Ongoing | None) -> None:
        """Give a mail to a thread."""
        if ride.is_begun:
            ride.claim.accept_begun(ride.mail)
        if ongoing is not None:
            self._mail_work.take_over(ongoing)
        with self._changed:
            self._in_flight[ride.claim.token, ride.mail.pk] = (ride.claim, ride.mail)
        self._hand_on(ride.claim, ride.mail)

    def _run(self) -> None:
        try:
            super()._run()
        finally:
            with contextlib.suppress(DatabaseError, InterfaceError):
                self._take_fed()

    def _refill(self) -> None:
        if self._feeder.has_answer:
            self._take_fed()
        if self._feeder.is_busy:
            return
        if not self._stream.is_busy:
            super()._refill()
            return
        self._hear_wake_up()
        if self._may_have_more and len(self._unstarted) < FEW and not self._is_stalled():
            self._feeder.start(lambda: self.claim(limit=self.policy.batch))

    def _take_fed(self) -> None:
        """Take in what was claimed meanwhile, if anything was asked for."""
        if not self._feeder.is_busy:
            return
        claim = self._feeder.take()
        if claim is None:
            self._may_have_more = False
        else:
            self._take_in(claim)

    def _take_in(self, claim: Claim) -> None:
        super()._take_in(claim)
        # A mail that tries a paused channel has a thread: it makes one connection, not two.
        if not (self._channel.is_probe or self._lines.is_down):
            mails = cast("Sequence[EmailJob]", claim.rows)
            self._to_stream.update(mail.pk for mail in mails if is_small(claim, mail))

    def _dispatch(self) -> None:
        if self._lines.is_down:  # threads find out why, and what is to be done about it
            self._to_stream.clear()
        free = self._threads.size - len(self._in_flight)
        self._stream.resize(waiting=len(self._to_stream), most=free)
        super()._dispatch()

    def _take_unstarted(self) -> tuple[Claim, QueueRow] | None:
        return self._taken(to_stream=False)

    def _taken(self, *, to_stream: bool) -> tuple[Claim, QueueRow] | None:
        if not to_stream and len(self._to_stream) == len(self._unstarted):
            return None
        for place, (claim, row) in enumerate(self._unstarted):
            if (row.pk in self._to_stream) is to_stream:
                del self._unstarted[place]
                self._to_stream.discard(row.pk)
                return claim, row
        return None

    @property
    def _in_work(self) -> int:
        return super()._in_work + self._stream.busy

    def _is_done(self) -> bool:
        return not (self._stream.is_busy or self._feeder.is_busy) and super()._is_done()

    def _wait(self) -> None:
        is_busy = self._stream.is_busy or self._lines.opening or self._feeder.is_busy
        if is_busy or (self._to_stream and self._stream.size):
            self._stream.turn(0.0 if self.context.woken.is_set() else LOOK_SECONDS)
        else:
            super()._wait()

    def _release_unstarted(self) -> None:
        super()._release_unstarted()
        self._to_stream.clear()
        self._coming.clear()

    def _stop(self) -> None:
        self._take_fed()
        self._release_unstarted()
        for ride in self._stream.drop_following():
            self.context.tally(released=ride.claim.release(ride.mail))
        while self._stream.is_busy and not self.context.stop.is_over:
            self._stream.turn(min(LOOK_SECONDS, self.context.stop.remaining_seconds))
        self._stream.halt()
        for ride in self._stream.rides:
            self._interrupt(ride.claim, ride.mail)
        super()._stop()
