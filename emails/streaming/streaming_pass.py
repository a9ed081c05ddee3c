"""A pass that streams mail, and gives to threads what is not to be streamed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from django.db import DatabaseError, InterfaceError

from emails.claiming import MailPass
from emails.delivery import SMTPTransport
from emails.models import EmailJob
from emails.streaming.feeder import Feeder
from emails.streaming.lines import Lines
from emails.streaming.lounge import Lounge
from emails.streaming.ongoing import Ongoing
from emails.streaming.ride import Ride, is_small
from emails.streaming.stream import Stream
from jobs.claims import Claim, ClaimPolicy
from jobs.context import RunContext
from jobs.queues import QueueRow
from jobs.workers.queue_pass import LOOK_SECONDS

if TYPE_CHECKING:
    from emails.processor import MailWork

TURNS_SECONDS = 0.02  # in which the stream has this thread for itself
FEW = 60  # of what waits to be streamed; then more is claimed


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
        self._lounge = Lounge(
            work.ride_of, self._turn_away, is_settled=lambda: work.throttles.is_empty
        )
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
        if self.context.should_stop() or self.is_held:
            return None
        ride = self._lounge.next()
        if ride is not None:
            self._moved_at = time.monotonic()
        return ride

    def coming(self, count: int) -> list[Ride]:
        """Return mails that will be next and of which this was not told before."""
        return self._lounge.make_ready(count)

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
            self._turn_all_away()

    def _refill(self) -> None:
        if self._feeder.has_answer:
            self._take_fed()
        if self._feeder.is_busy:
            return
        if not self._stream.is_busy:
            super()._refill()
            return
        self._hear_wake_up()
        if self._may_have_more and len(self._lounge) < FEW and not self._is_stalled():
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

    def _line_up(self, claim: Claim) -> None:
        # A mail that tries a paused channel has a thread: it makes one connection, not two.
        is_streaming = not (claim.suspect or self._channel.is_probe or self._lines.is_down)
        for mail in cast("Sequence[EmailJob]", claim.rows):
            if is_streaming and is_small(mail):
                self._lounge.add((claim, mail))
            else:
                self._unstarted.append((claim, mail))

    def _room(self) -> int:
        return 0 if self._lounge else super()._room()

    def _dispatch(self) -> None:
        if self._lines.is_down:  # threads find out why, and what is to be done about it
            self._turn_all_away()
        free = self._threads.size - len(self._in_flight)
        most = free - min(free, len(self._unstarted))
        self._stream.resize(waiting=len(self._lounge), most=most)
        super()._dispatch()

    def _begin_next(self, *, ending: int = 0) -> tuple[Claim, QueueRow] | None:
        # One thread for each connection of the stream stays free: a mail that leaves it there
        # keeps its connection, and must not wait behind one that waits for a connection.
        return super()._begin_next(ending=ending - self._stream.size)

    def _turn_away(self, claimed: tuple[Claim, QueueRow]) -> None:
        """Have a mail wait for a thread."""
        with self._changed:
            self._unstarted.append(claimed)

    def _turn_all_away(self) -> None:
        for claimed in self._lounge.clear():
            self._turn_away(claimed)

    @property
    def _is_waiting(self) -> bool:
        return bool(self._lounge) or super()._is_waiting

    @property
    def _in_work(self) -> int:
        return super()._in_work + self._stream.busy

    def _is_done(self) -> bool:
        return not (self._stream.is_busy or self._feeder.is_busy) and super()._is_done()

    def _wait(self) -> None:
        is_busy = self._stream.is_busy or self._lines.opening or self._feeder.is_busy
        if not (is_busy or (self._lounge and self._stream.size)):
            super()._wait()
            return
        until = time.monotonic() + TURNS_SECONDS
        self._stream.turn(0.0 if self.context.woken.is_set() else LOOK_SECONDS)
        while self._has_only_to_turn() and time.monotonic() < until:
            self._stream.turn(LOOK_SECONDS)

    def _has_only_to_turn(self) -> bool:
        """Say whether nothing but the stream needs this thread now."""
        is_fed = len(self._lounge) >= FEW or (self._feeder.is_busy and not self._feeder.has_answer)
        return is_fed and self._stream.is_busy and not self._unstarted and not self._in_flight

    def _release_unstarted(self) -> None:
        self._turn_all_away()
        super()._release_unstarted()

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
