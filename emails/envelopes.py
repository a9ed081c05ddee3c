"""What goes into one attempt to deliver, and what comes out. Values only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from emails.errors import InvalidEnvelope
from emails.replies import Outcome, Reply, Stage

UNSAFE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
BeforeDot = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """One mail for one transaction: the recipients are those still pending."""

    mail_from: str
    recipients: tuple[str, ...]
    raw: bytes = field(repr=False)  # with CRLF line ends
    name: str = ""  # what a file of it is called: the row's id, or the Message-ID

    def __post_init__(self) -> None:
        """Refuse an address that would break out of its command: raises InvalidEnvelope."""
        for address in (self.mail_from, *self.recipients):
            if not (address.isascii() and address.isprintable()) and UNSAFE.search(address):
                raise InvalidEnvelope(address)


@dataclass(frozen=True, kw_only=True)
class RecipientResult:
    """What came of one recipient."""

    address: str
    outcome: Outcome
    reply: Reply | None = None  # what the server said about it, if it said something
    detail: str = ""  # what happened where no reply tells it

    @property
    def text(self) -> str:
        """One line for an operator."""
        return str(self.reply) if self.reply is not None else self.detail


@dataclass(frozen=True, kw_only=True)
class ChannelError:
    """Why no mail can be given to the server at the moment."""

    stage: Stage
    reply: Reply | None = None
    detail: str = ""  # what happened where no reply tells it; never a password

    @property
    def text(self) -> str:
        """One line for an operator."""
        said = str(self.reply) if self.reply is not None else self.detail
        return f"{self.stage.value}: {said}"


@dataclass(frozen=True, kw_only=True)
class DeliveryResult:
    """What came of one attempt, for each recipient of its envelope in order.

    `channel_error` set: pause the channel; recipients with the outcome CHANNEL cost no attempt.
    """

    recipients: tuple[RecipientResult, ...]
    channel_error: ChannelError | None = None

    @property
    def accepted(self) -> tuple[str, ...]:
        """The recipients for whom the server has taken the mail."""
        return self.addresses(Outcome.ACCEPTED)

    @property
    def pending(self) -> tuple[str, ...]:
        """The recipients that a later transaction has to try."""
        return tuple(r.address for r in self.recipients if not r.outcome.is_final)

    @property
    def uncertain(self) -> bool:
        """Whether the mail may have been taken although nobody said so."""
        return any(r.outcome is Outcome.UNCERTAIN for r in self.recipients)

    @property
    def rest_at_once(self) -> bool:
        """Whether the server took as many as it does at a time, and the rest may follow."""
        return any(r.outcome is Outcome.TOO_MANY_RECIPIENTS for r in self.recipients)

    @property
    def counts_an_attempt(self) -> bool:
        """Whether a pending recipient was tried and failed by what concerns this mail."""
        return any(r.outcome.counts_an_attempt for r in self.recipients)

    @property
    def first_problem(self) -> RecipientResult | None:
        """The result to show for the whole: the first that is not ACCEPTED."""
        return next((r for r in self.recipients if r.outcome is not Outcome.ACCEPTED), None)

    def addresses(self, *outcomes: Outcome) -> tuple[str, ...]:
        """Return the recipients with one of these outcomes."""
        return tuple(r.address for r in self.recipients if r.outcome in outcomes)


def all_alike(
    recipients: Iterable[str], outcome: Outcome, *, reply: Reply | None = None, detail: str = ""
) -> DeliveryResult:
    """Return a result in which every recipient has the same outcome."""
    return DeliveryResult(
        recipients=tuple(
            RecipientResult(address=address, outcome=outcome, reply=reply, detail=detail)
            for address in recipients
        )
    )


def channel_down(recipients: Iterable[str], error: ChannelError) -> DeliveryResult:
    """Return the result of an attempt that never came to its mail."""
    alike = all_alike(recipients, Outcome.CHANNEL, reply=error.reply, detail=error.text)
    return DeliveryResult(recipients=alike.recipients, channel_error=error)
