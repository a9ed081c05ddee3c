"""A mail that left the usual way while it was streamed, to be brought to its end."""

from __future__ import annotations

from dataclasses import dataclass

from emails.envelopes import BeforeDot, DeliveryResult
from emails.pool import Pool
from emails.smtp import Connection
from emails.smtp_client import Transcript
from emails.streaming.ride import Ride


@dataclass(kw_only=True, eq=False)
class Ongoing:
    """What was said and heard of the mail, and the connection if it goes on there."""

    ride: Ride
    connection: Connection
    transcript: Transcript
    pool: Pool

    def deliver(self, *, before_dot: BeforeDot) -> DeliveryResult:
        """Say what is left to be said, if anything; as `Connection.go_on`."""
        try:
            return self.connection.go_on(
                self.ride.envelope,
                self.transcript,
                before_dot=(lambda: None) if self.ride.dot_is_out else before_dot,
            )
        finally:
            if not self.transcript.is_over:
                self.pool.give_back(self.connection)
