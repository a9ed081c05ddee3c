"""A mail on its way over a connection that is streamed over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from emails.bodies import Bodies
from emails.envelopes import Envelope
from emails.models import EmailJob
from emails.recipients import Acceptance, acceptance_of
from emails.screening import Screened
from emails.smtp import Connection
from emails.transactions import command_lines, stuffed
from jobs.claims import Claim

LARGEST = 64 * 1024  # bytes; what is larger has a thread to itself
MOST_RECIPIENTS = 50


@dataclass(kw_only=True, eq=False, slots=True)
class Ride:
    """The mail, and what has been said and heard of it."""

    claim: Claim
    mail: EmailJob
    envelope: Envelope
    screened: Screened
    row_id: int
    fence: str  # the row and the claim, as JSON
    features: Mapping[str, str] | None = None  # of the server for which the lines are
    lines: list[bytes] = field(default_factory=list)  # its commands
    body: bytes = b""  # as it goes over the wire, without the final dot
    acceptance: Acceptance | None = None  # what its row is to say once a server has taken it
    connection: Connection | None = None  # over which it has been said
    is_begun: bool = False  # which is committed
    said: int = 0  # bytes
    heard: bytes = b""
    dot_is_out: bool = False

    def prepare(self, features: Mapping[str, str]) -> None:
        """Write down what a server that offers this is told, and what its acceptance will mean."""
        if self.features is None:
            self.body = stuffed(self.envelope.raw)
            self.acceptance = acceptance_of(self.screened.recipients)
        if self.features != features:
            self.lines = command_lines(self.envelope, self.envelope.recipients, features)
            self.features = features


def ride_of(claim: Claim, mail: EmailJob, screened: Screened, bodies: Bodies) -> Ride | None:
    """Return a mail as it can be streamed; None if it needs a transaction of its own."""
    addresses = screened.to_try
    if not addresses or (len(addresses) > 1 and len(set(addresses)) != len(addresses)):
        return None
    if not (mail.mail_from.isascii() and all(address.isascii() for address in addresses)):
        return None
    raw = bodies.take(mail)
    if raw is None:
        return None
    row_id: int = mail.id
    return Ride(
        claim=claim,
        mail=mail,
        envelope=Envelope(
            mail_from=mail.mail_from, recipients=addresses, raw=raw, name=str(row_id)
        ),
        screened=screened,
        row_id=row_id,
        fence=f'"id":{row_id},"token":"{claim.token_text}"',
    )


def is_small(mail: EmailJob) -> bool:
    """Say whether a claimed mail is worth to be looked at for that."""
    return mail.size <= LARGEST and len(mail.recipients) <= MOST_RECIPIENTS
