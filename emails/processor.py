"""
Delivering queued mail: one mail, one attempt, one outcome per recipient.

No transaction is open while a server is talked to. What cannot be closed is the time
between the final dot and the write of its answer: ``sending_since`` is committed before the
dot, so that a crash there leaves a row that says ``possible_duplicate``.
"""

from __future__ import annotations

import logging
import threading
from typing import cast

from emails import conf
from emails.delivery import Transport, open_transport, parse_delivery_url
from emails.envelopes import DeliveryResult, Envelope
from emails.models import EmailBody, EmailJob
from emails.policy import email_policy, in_doubt
from emails.recipients import Settlement, Verdict, pending_addresses, settle
from jobs import backoff
from jobs.claims import Claim
from jobs.clock import ClockTime
from jobs.conf import RETRY_BACKOFF_MS
from jobs.context import RunContext
from jobs.errors import LostClaimError
from jobs.outage import is_outage
from jobs.queues import QueueRow
from jobs.workers.queue_pass import QueuePass, queue_threads

logger = logging.getLogger(__name__)
# The server may still be working on a mail whose answer did not come.
UNCERTAIN_DELAY_MS = 120_000


def process(context: RunContext) -> None:
    """Run one pass over the queue. Without a delivery configured mail stays queued."""
    url = conf.DELIVERY_URL.get()
    if not url:
        return
    policy = email_policy()
    work = MailWork(context, transports.of(url, connections=policy.handlers))
    QueuePass(context, policy, work, queue_threads.of(policy)).run()


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

    def __init__(self, context: RunContext, transport: Transport) -> None:
        self.context = context
        self._transport = transport
        self._sending: set[int] = set()

    def work(self, claim: Claim, row: QueueRow) -> None:
        mail = cast("EmailJob", row)
        try:
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

    def interrupt(self, claim: Claim, row: QueueRow) -> None:
        delay_ms = UNCERTAIN_DELAY_MS if row.pk in self._sending else None
        # By the row itself: its final dot may go out in this very moment.
        claim.interrupt(row, delay_ms=delay_ms, possible_duplicate=in_doubt())
        self._transport.abort()

    def _attempt(self, claim: Claim, mail: EmailJob) -> None:
        if mail.expires_at is not None and mail.expires_at <= cast("object", mail.claimed_at):  # type: ignore[operator]
            claim.complete(mail, status="cancelled", outcome="expired")
            self.context.tally(expired=1)
            return
        claim.begin(mail)
        body = EmailBody.objects.filter(pk=mail.pk).values_list("raw", flat=True).first()
        if body is None:
            claim.bury(mail, "The body of this mail has been removed; it cannot be sent.")
            self.context.tally(dead=1)
            return
        settlement = self._deliver(claim, mail, bytes(body))
        self._write(claim, mail, settlement)

    def _deliver(self, claim: Claim, mail: EmailJob, raw: bytes) -> Settlement:
        """Send to the pending recipients, in as many transactions as the server wants."""
        recipients = mail.recipients
        while True:
            addresses = pending_addresses(recipients)
            result = self._transact(
                claim,
                mail,
                Envelope(
                    mail_from=mail.mail_from, recipients=addresses, raw=raw, name=str(mail.pk)
                ),
            )
            settlement = settle(
                recipients, result, attempts=mail.attempts, max_attempts=mail.max_attempts
            )
            progressed = len(pending_addresses(settlement.recipients)) < len(addresses)
            if not (result.rest_at_once and progressed) or self.context.stop.is_over:
                return settlement
            recipients = settlement.recipients
            # What was accepted is committed before the next transaction begins.
            claim.note(mail, recipients=recipients, sending_since=None)
            self._sending.discard(mail.pk)

    def _transact(self, claim: Claim, mail: EmailJob, envelope: Envelope) -> DeliveryResult:
        def before_dot() -> None:
            self._sending.add(mail.pk)
            claim.note(mail, sending_since=ClockTime())

        return self._transport.deliver(envelope, before_dot=before_dot)

    def _write(self, claim: Claim, mail: EmailJob, settlement: Settlement) -> None:
        fields = {"recipients": settlement.recipients, "last_code": settlement.code}
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
                changed = claim.bury(mail, settlement.problem, attempts=mail.attempts + 1, **fields)
                self._count(changed, dead=1)
            case Verdict.RETRY:
                changed = claim.retry(
                    mail, settlement.problem, delay_ms=_delay_ms(mail, settlement), **fields
                )
                self._count(changed, failed=1)
            case Verdict.GIVE_BACK:
                changed = claim.release(
                    mail,
                    delay_ms=backoff.delay_ms(1, RETRY_BACKOFF_MS.get()),
                    last_error=settlement.problem,
                    **fields,
                )
                logger.warning("mail_given_back id=%s reason=%s", mail.pk, settlement.problem)
                self._count(changed, given_back=1)

    def _count(self, changed: int, **counts: int) -> None:
        self.context.tally(**(counts if changed else {"lost": 1}))


def _delay_ms(mail: EmailJob, settlement: Settlement) -> int:
    delay = backoff.delay_ms(mail.attempts + 1, RETRY_BACKOFF_MS.get())
    return max(delay, UNCERTAIN_DELAY_MS) if settlement.uncertain else delay
