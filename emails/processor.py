"""
Delivering queued mail: one mail, one attempt, one outcome per recipient.

No transaction is open while a server is talked to. What cannot be closed is the time
between the final dot and the write of its answer: ``sending_since`` is committed before the
dot, so that a crash there leaves a row that says ``possible_duplicate``.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Any, cast

from django.db import DatabaseError, InterfaceError

from emails import conf
from emails.bodies import Bodies
from emails.channel import Channel
from emails.claiming import MailPass
from emails.delivery import SMTPTransport, Transport, open_transport, parse_delivery_url
from emails.envelopes import ChannelError, DeliveryResult, Envelope
from emails.errors import StaleConnection
from emails.models import EmailJob
from emails.policy import email_policy, in_doubt
from emails.recipients import ITS_OWN, Settlement, Verdict, pending_addresses, settle
from emails.replies import BEFORE_MAIL, Outcome, Stage
from emails.screening import Screen, Screened
from emails.streaming.ongoing import Ongoing
from emails.streaming.ride import Ride, ride_of
from emails.streaming.streaming_pass import StreamingPass
from emails.throttles import Throttles
from jobs import backoff
from jobs.claims import Claim
from jobs.clock import ClockTime
from jobs.conf import RETRY_BACKOFF_MS
from jobs.context import RunContext
from jobs.errors import LostClaimError
from jobs.outage import is_outage
from jobs.queues import QueueRow

logger = logging.getLogger(__name__)
# The server may still be working on a mail whose answer did not come.
UNCERTAIN_DELAY_MS = 120_000
AT_ONCE = 0


def process(context: RunContext) -> None:
    """Run one pass over the queue. Without a delivery configured mail stays queued."""
    url = conf.DELIVERY_URL.get()
    if not url:
        return
    policy = email_policy()
    transport = transports.of(url, connections=policy.handlers)
    work = MailWork(context, transport, Channel(parse_delivery_url(url)))
    if isinstance(transport, SMTPTransport):
        StreamingPass(context, policy, work, transport).run()
    else:
        MailPass(context, policy, work).run()
    transport.close_idle()


class Transports:
    """The open transport of this process, kept from pass to pass for its connections."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key: tuple[str, int] | None = None
        self._transport: Transport | None = None

    def of(self, url: str, *, connections: int) -> Transport:
        """Return the transport of a delivery URL, opened anew when the settings changed."""
        with self._lock:
            if self._transport is None or self._key != (url, connections):
                self._close()
                self._transport = open_transport(parse_delivery_url(url), connections=connections)
                self._key = (url, connections)
            return self._transport

    def close(self) -> None:
        """Say goodbye on every connection."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.close()


transports = Transports()


class MailWork:
    """What is done with one claimed mail."""

    def __init__(self, context: RunContext, transport: Transport, channel: Channel) -> None:
        self.context = context
        self.channel = channel
        self.throttles = Throttles()
        self.screen = Screen(self.throttles)
        self.bodies = Bodies()
        self.probe: int | None = None  # the mail with which a paused channel is tried
        self._transport = transport
        self._sending: set[int] = set()
        self._ongoing: dict[int, Ongoing] = {}

    def work(self, claim: Claim, row: QueueRow) -> None:
        mail = cast("EmailJob", row)
        ongoing = self._ongoing.pop(mail.pk, None)
        try:
            if ongoing is not None:
                self._send(claim, mail, ongoing.ride.screened, ongoing=ongoing)
            elif self.channel.is_paused and self.probe != mail.pk:
                self.context.tally(released=claim.release(mail))
            else:
                self._attempt(claim, mail)
        except LostClaimError:
            self.context.tally(lost=1)
        except Exception as error:
            if claim.holds(mail) and not is_outage(error):
                logger.exception("mail_failed id=%s", mail.pk)
                self.context.tally(failed=claim.retry(mail, error))
            else:
                # It turns stale and is claimed again.
                logger.warning("outcome_not_written queue=email_jobs id=%s", mail.pk)
                claim.forget(mail)
        finally:
            self._sending.discard(mail.pk)
            if self.probe == mail.pk:
                self._leave_probe()

    def interrupt(self, claim: Claim, row: QueueRow) -> None:
        delay_ms = UNCERTAIN_DELAY_MS if row.pk in self._sending else None
        # By the row itself: its final dot may go out in this very moment.
        claim.interrupt(row, delay_ms=delay_ms, possible_duplicate=in_doubt())
        self._transport.abort()

    def ride_of(self, claim: Claim, mail: EmailJob) -> Ride | None:
        """Return a claimed mail as it can be streamed; None if it is another matter."""
        if _is_expired(mail):
            return None
        screened = self.screen.of(mail)
        return None if screened.is_held_back else ride_of(claim, mail, screened, self.bodies)

    def departs(self, ride: Ride) -> None:
        """Note that a server may have a streamed mail from now on."""
        self._sending.add(ride.row_id)

    def arrived(self, rides: Sequence[Ride]) -> None:
        """Draw the conclusions from streamed mails that are sent."""
        self._sending.difference_update(ride.row_id for ride in rides)
        self.throttles.accept(item["domain"] for ride in rides for item in ride.mail.recipients)
        self.context.tally(sent=len(rides))

    def lost(self, ride: Ride) -> None:
        """Count a streamed mail that another worker has taken away."""
        self._sending.discard(ride.row_id)
        self.context.tally(lost=1)

    def take_over(self, ongoing: Ongoing) -> None:
        """Go on, when a mail is worked on, from what was streamed of it."""
        self._ongoing[ongoing.ride.mail.pk] = ongoing

    def _attempt(self, claim: Claim, mail: EmailJob) -> None:
        if _is_expired(mail):
            claim.complete(mail, status="cancelled", outcome="expired")
            self.context.tally(expired=1)
            return
        screened = self.screen.of(mail)
        if screened.is_suppressed:
            self._suppress(claim, mail, screened)
            return
        if not screened.to_try:
            if screened.held and not mail.last_error:
                mail.last_error = f"waits: {min(screened.held)} is in a throttled domain"
            nothing = DeliveryResult(recipients=())
            settlement = self._settled(mail, screened.recipients, nothing, screened)
            self._write(claim, mail, settlement, delay_ms=self._domain_wait_ms(settlement))
            return
        # A crash of the database, not of this worker, may forget that: nothing was said yet.
        claim.begin(mail, is_durable=False)
        self._send(claim, mail, screened)

    def _send(
        self, claim: Claim, mail: EmailJob, screened: Screened, *, ongoing: Ongoing | None = None
    ) -> None:
        body = ongoing.ride.envelope.raw if ongoing is not None else self.bodies.take(mail)
        if body is None:
            claim.bury(mail, "The body of this mail has been removed; it cannot be sent.")
            self.context.tally(dead=1)
            return
        settlement, delay_ms = self._deliver(claim, mail, body, screened, ongoing=ongoing)
        self._write(claim, mail, settlement, delay_ms=delay_ms)

    def _deliver(
        self,
        claim: Claim,
        mail: EmailJob,
        raw: bytes,
        screened: Screened,
        *,
        ongoing: Ongoing | None,
    ) -> tuple[Settlement, int | None]:
        """
        Send to the recipients to be tried, in as many transactions as the server wants.

        Returns what came of it, and for how long the mail waits where that is known.
        """
        recipients, held = screened.recipients, screened.held
        while True:
            addresses = tuple(each for each in pending_addresses(recipients) if each not in held)
            result = self._transact(
                claim,
                mail,
                Envelope(
                    mail_from=mail.mail_from, recipients=addresses, raw=raw, name=str(mail.pk)
                ),
                ongoing=ongoing,
            )
            ongoing = None
            delay_ms = self._learn(mail, result)
            settlement = self._settled(mail, recipients, result, screened)
            throttled = result.addresses(Outcome.THROTTLED_DOMAIN)
            held |= frozenset(throttled)
            left = frozenset(pending_addresses(settlement.recipients)) - held
            # A server that throttles a domain with 421 hangs up on the other recipients, too.
            hung_up = bool(throttled and result.addresses(Outcome.LOST))
            goes_on = (result.rest_at_once and not left.issuperset(addresses)) or hung_up
            if not (left and goes_on) or self.context.stop.is_over:
                if delay_ms is None:
                    delay_ms = self._domain_wait_ms(settlement)
                return settlement, delay_ms
            recipients = settlement.recipients
            # What was accepted is committed before the next transaction begins.
            claim.note(mail, recipients=recipients, sending_since=None)
            self._sending.discard(mail.pk)

    def _learn(self, mail: EmailJob, result: DeliveryResult) -> int | None:
        """Note what an answer says of the channel and of domains; return a pause if it is one."""
        if result.channel_error is not None:
            delay_ms = self._fail_channel(mail, result.channel_error)
            if result.channel_error.stage in BEFORE_MAIL:
                return AT_ONCE  # nothing is claimed before the channel is tried again
            # What may be this mail's own fault lets others go first.
            is_its_own = result.channel_error.stage in ITS_OWN
            return max(delay_ms, _first_delay_ms()) if is_its_own else delay_ms
        if self.probe == mail.pk:
            if any(each.reply or each.outcome is Outcome.ACCEPTED for each in result.recipients):
                self._resume_channel()
            else:
                detail = result.first_problem.text if result.first_problem else "no reply"
                self._fail_channel(mail, ChannelError(stage=Stage.MAIL, detail=detail))
        domains = {item["address"]: item["domain"] for item in mail.recipients}
        self.throttles.accept(domains[address] for address in result.accepted)
        for each in result.recipients:
            if each.outcome is Outcome.THROTTLED_DOMAIN:
                self.throttles.hold(domains[each.address], each.reply)
        return None

    def _domain_wait_ms(self, settlement: Settlement) -> int | None:
        """Return how long until the first domain of a pending recipient may be tried."""
        waits = [
            self.throttles.seconds_left(item["domain"])
            for item in settlement.recipients
            if item["state"] == "pending"
        ]
        return int(min(filter(None, waits), default=0.0) * 1000) or None

    def _fail_channel(self, mail: EmailJob, error: ChannelError) -> int:
        if self.probe == mail.pk:
            self.probe = None
        return self.channel.fail(error)

    def _resume_channel(self) -> None:
        self.probe = None
        if self.channel.work():
            self.context.woken.set()

    def _leave_probe(self) -> None:
        """Give the probe back that came to nothing, such as with a mail that had expired."""
        self.probe = None
        with contextlib.suppress(DatabaseError, InterfaceError):
            self.channel.leave()
        self.context.woken.set()

    def _suppress(self, claim: Claim, mail: EmailJob, screened: Screened) -> None:
        changed = claim.complete(
            mail, status="cancelled", outcome="suppressed", recipients=screened.recipients
        )
        self._count(changed, suppressed=1)

    def _settled(
        self,
        mail: EmailJob,
        recipients: Sequence[Mapping[str, Any]],
        result: DeliveryResult,
        screened: Screened,
    ) -> Settlement:
        return settle(
            recipients,
            result,
            attempts=mail.attempts,
            max_attempts=mail.max_attempts,
            is_patient=screened.is_patient,
        )

    def _transact(
        self, claim: Claim, mail: EmailJob, envelope: Envelope, *, ongoing: Ongoing | None
    ) -> DeliveryResult:
        def before_dot() -> None:
            self._sending.add(mail.pk)
            claim.note(mail, sending_since=ClockTime())

        if ongoing is not None:
            with contextlib.suppress(StaleConnection):
                return ongoing.deliver(before_dot=before_dot)
        return self._transport.deliver(envelope, before_dot=before_dot)

    def _write(
        self, claim: Claim, mail: EmailJob, settlement: Settlement, *, delay_ms: int | None
    ) -> None:
        fields: dict[str, Any] = {"recipients": settlement.recipients}
        if settlement.code is not None:
            fields["last_code"] = settlement.code
        problem = settlement.problem or mail.last_error
        if settlement.uncertain:
            fields["possible_duplicate"] = True
        match settlement.verdict:
            case Verdict.SENT:
                changed = claim.complete(
                    mail,
                    sent_at=ClockTime(),
                    outcome=settlement.outcome,
                    last_error=settlement.problem,
                    **fields,
                )
                self._count(changed, sent=1)
            case Verdict.DEAD:
                changed = claim.bury(mail, problem, attempts=mail.attempts + 1, **fields)
                self._count(changed, dead=1)
            case Verdict.RETRY:
                changed = claim.retry(mail, problem, delay_ms=_delay_ms(mail, settlement), **fields)
                self._count(changed, failed=1)
            case Verdict.GIVE_BACK:
                changed = claim.release(
                    mail,
                    delay_ms=_first_delay_ms() if delay_ms is None else delay_ms or None,
                    last_error=problem,
                    **fields,
                )
                logger.debug("mail_given_back id=%s reason=%s", mail.pk, problem)
                self._count(changed, given_back=1)

    def _count(self, changed: int, **counts: int) -> None:
        self.context.tally(**(counts if changed else {"lost": 1}))


def _is_expired(mail: EmailJob) -> bool:
    claimed_at = cast("dt.datetime", mail.claimed_at)
    return mail.expires_at is not None and mail.expires_at <= claimed_at


def _first_delay_ms() -> int:
    return backoff.delay_ms(1, RETRY_BACKOFF_MS.get())


def _delay_ms(mail: EmailJob, settlement: Settlement) -> int:
    delay = backoff.delay_ms(mail.attempts + 1, RETRY_BACKOFF_MS.get())
    return max(delay, UNCERTAIN_DELAY_MS) if settlement.uncertain else delay
