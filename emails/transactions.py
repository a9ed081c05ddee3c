"""One mail transaction: MAIL, RCPT for each recipient, DATA, the body, the final dot.

RFC 5321 §3.3; pipelined as in RFC 2920 where the server offers it.
"""

from __future__ import annotations

import re
import smtplib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from emails.envelopes import BeforeDot, ChannelError, DeliveryResult, Envelope, RecipientResult
from emails.replies import Outcome, Reply, Stage, classify, parse_reply

if TYPE_CHECKING:
    from emails.smtp_client import Client, Timeouts

GO_AHEAD = 354
END_OF_MAIL = b".\r\n"
CLOSING = 421
BLOCK = 64 * 1024
PIPELINED_AT_ONCE = 100  # commands written before their replies are read, so that no buffer fills
LATE_REPLY_SECONDS = 2.0
BROKEN = (OSError, smtplib.SMTPException)


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command, and the recipient it names if it names one."""

    stage: Stage
    line: bytes
    address: str = ""


class Transaction:
    """Gives one envelope to a connected client. Used once."""

    def __init__(self, client: Client, envelope: Envelope, *, timeouts: Timeouts) -> None:
        """Prepare; nothing is said before `run`."""
        self._client = client
        self._envelope = envelope
        self._timeouts = timeouts
        self._results: dict[str, RecipientResult] = {}
        self._named: list[str] = []  # accepted at RCPT
        self._channel_error: ChannelError | None = None
        self._answered = False
        self._is_sender_refused = False
        self._go_ahead = False
        self._dot_sent = False
        self._completed = False

    @property
    def found_closed(self) -> bool:
        """Whether the server had closed the connection before it answered anything."""
        return not self._answered and self._client.sock is None and not self._client.timed_out

    @property
    def is_completed(self) -> bool:
        """Whether the server has answered the final dot, which empties its buffers.

        RFC 5321 §4.1.1.4: only a transaction that ended before needs a RSET, which would cost
        a quarter of the speed where the server does not pipeline.
        """
        return self._completed

    def run(self, before_dot: BeforeDot) -> DeliveryResult:
        """Say it all and return what came of each recipient; `before_dot` may raise."""
        to_try = self._screened()
        if not to_try:
            self._answered = True
            return self._result()
        if self._unless_broken(lambda: self._converse(to_try)):
            self._ask(before_dot)
            self._unless_broken(self._send_dot)
        return self._result()

    def _unless_broken(self, step: Callable[[], bool]) -> bool:
        try:
            return step()
        except BROKEN as error:
            self._client.close()
            self._settle_broken(str(error) or type(error).__name__)
            return False

    def _ask(self, before_dot: BeforeDot) -> None:
        try:
            before_dot()
        except BaseException:
            self._client.close()  # without its dot the server throws the mail away
            raise

    def _converse(self, to_try: list[str]) -> bool:
        """Say everything up to the final dot. False: there is no mail to put a dot to."""
        if self._client.has_extn("pipelining"):
            self._say_pipelined(self._commands(to_try))
        else:
            self._say_in_turn(self._commands(to_try))
        if not self._go_ahead:
            return False
        if not self._named:  # RFC 2920 §3.1: DATA was taken although no recipient was
            self._client.allow(self._timeouts.final)
            self._client.write(END_OF_MAIL)
            self._client.getreply()
            return False
        self._send_body()
        return True

    def _screened(self) -> list[str]:
        """Settle who cannot be served by this server at all, and return the others."""
        recipients = list(dict.fromkeys(self._envelope.recipients))
        limit = size_limit(self._client.esmtp_features)
        if 0 < limit < len(self._envelope.raw):
            detail = f"{len(self._envelope.raw)} bytes, the server takes {limit}"
            self._settle(recipients, Outcome.TOO_BIG, detail=f"message too big: {detail}")
            return []
        if self._client.has_extn("smtputf8"):
            return recipients
        detail = "the server does not offer SMTPUTF8, which {} needs"
        if not self._envelope.mail_from.isascii():
            sender = detail.format(f"the sender {self._envelope.mail_from}")
            self._settle(recipients, Outcome.NEEDS_SMTPUTF8, detail=sender)
            return []
        for address in recipients:
            if not address.isascii():
                self._settle([address], Outcome.NEEDS_SMTPUTF8, detail=detail.format(address))
        return [address for address in recipients if address.isascii()]

    def _commands(self, to_try: list[str]) -> Iterator[Command]:
        mail, *named, data = command_lines(self._envelope, to_try, self._client.esmtp_features)
        yield Command(stage=Stage.MAIL, line=mail)
        for address, line in zip(to_try, named, strict=True):
            yield Command(stage=Stage.RCPT, line=line, address=address)
        yield Command(stage=Stage.DATA, line=data)

    def _say_in_turn(self, commands: Iterator[Command]) -> None:
        for command in commands:
            if command.stage is Stage.DATA and not self._named:
                return
            self._client.allow(self._timeouts.command)
            self._client.write(command.line)
            if not self._hear(command):
                return

    def _say_pipelined(self, commands: Iterator[Command]) -> None:
        waiting = list(commands)
        while waiting:
            group, waiting = waiting[:PIPELINED_AT_ONCE], waiting[PIPELINED_AT_ONCE:]
            self._client.allow(self._timeouts.command)
            self._client.write(b"".join(command.line for command in group))
            # Each reply has to be read, also after one that decides, to stay in step.
            for command in group:
                self._client.allow(self._timeouts.command)
                self._hear(command)
                if self._client.sock is None:
                    return
            if self._channel_error or self._is_sender_refused:
                return

    def _hear(self, command: Command) -> bool:
        """Read the reply to a command and draw the conclusions. False: say nothing further."""
        reply = self._reply()
        if command.stage is Stage.DATA and reply.code == GO_AHEAD:
            self._go_ahead = True
            return True
        outcome = classify(command.stage, reply)
        concerned = self._concerned(command)
        if outcome is Outcome.ACCEPTED:
            self._named += [address for address in concerned if command.address]
            return True
        self._settle(concerned, outcome, reply=reply)
        self._is_sender_refused |= command.stage is Stage.MAIL
        if outcome is Outcome.CHANNEL and concerned and self._channel_error is None:
            self._channel_error = ChannelError(stage=command.stage, reply=reply)
        if reply.code == CLOSING:
            self._client.close()
            self._settle_broken(f"the server closed the connection: {reply}")
            return False
        return command.stage is Stage.RCPT and outcome is not Outcome.CHANNEL

    def _concerned(self, command: Command) -> list[str]:
        if command.stage is Stage.RCPT:
            return [] if command.address in self._results else [command.address]
        return self._unsettled()

    def _send_body(self) -> None:
        body = memoryview(stuffed(self._envelope.raw))
        try:
            for start in range(0, len(body), BLOCK):
                self._client.allow(self._timeouts.data)
                self._client.write(body[start : start + BLOCK])
            gone = self._client.is_gone()
        except OSError:
            self._hear_late_reply()
            raise
        if gone:
            self._hear_late_reply()
            raise ConnectionError("the server closed the connection before the final dot")

    def _hear_late_reply(self) -> None:
        self._client.allow(LATE_REPLY_SECONDS)
        reply = self._reply()
        if not reply.is_positive:  # nothing can be accepted before the dot
            self._settle(self._unsettled(), classify(Stage.DOT, reply), reply=reply)

    def _send_dot(self) -> bool:
        self._dot_sent = True
        self._client.allow(self._timeouts.final)
        self._client.write(END_OF_MAIL)
        reply = self._reply()
        self._completed = True
        self._settle(self._named, classify(Stage.DOT, reply), reply=reply)
        if reply.code == CLOSING:
            self._client.close()
        return True

    def _reply(self) -> Reply:
        code, text = self._client.getreply()
        self._answered = True
        return parse_reply(code, text)

    def _unsettled(self) -> list[str]:
        return [
            address
            for address in dict.fromkeys(self._envelope.recipients)
            if address not in self._results
        ]

    def _settle(
        self,
        addresses: list[str],
        outcome: Outcome,
        *,
        reply: Reply | None = None,
        detail: str = "",
    ) -> None:
        for address in addresses:
            self._results[address] = RecipientResult(
                address=address, outcome=outcome, reply=reply, detail=detail
            )

    def _settle_broken(self, detail: str) -> None:
        outcome = Outcome.UNCERTAIN if self._dot_sent else Outcome.LOST
        if self._channel_error is not None:
            outcome = Outcome.CHANNEL
        self._settle(self._unsettled(), outcome, detail=detail)

    def _result(self) -> DeliveryResult:
        if self._channel_error is not None:
            self._settle(self._unsettled(), Outcome.CHANNEL, detail=self._channel_error.text)
        results = [self._results[address] for address in dict.fromkeys(self._envelope.recipients)]
        if not any(result.outcome is Outcome.ACCEPTED for result in results):
            # "The rest at once" presumes that some went: otherwise it would go round for ever.
            results = [self._held_back(result) for result in results]
        return DeliveryResult(recipients=tuple(results), channel_error=self._channel_error)

    def _held_back(self, result: RecipientResult) -> RecipientResult:
        if result.outcome is not Outcome.TOO_MANY_RECIPIENTS:
            return result
        stopped = self._channel_error is not None
        return replace(result, outcome=Outcome.CHANNEL if stopped else Outcome.RETRY)


def size_limit(features: Mapping[str, str]) -> int:
    """Return how many bytes of a mail the server takes; 0 if it has named no limit."""
    given = features.get("size", "").split()
    return int(given[0]) if given and given[0].isdigit() else 0


def command_lines(
    envelope: Envelope, to_try: Sequence[str], features: Mapping[str, str]
) -> list[bytes]:
    """Return MAIL, RCPT for each recipient to be tried, and DATA, as the server takes them."""
    given = ""
    if "size" in features:
        given += f" SIZE={len(envelope.raw)}"
    if not envelope.raw.isascii() and "8bitmime" in features:
        given += " BODY=8BITMIME"
    if not all(map(str.isascii, (envelope.mail_from, *to_try))):
        given += " SMTPUTF8"
    return [
        f"MAIL FROM:<{envelope.mail_from}>{given}\r\n".encode(),
        *(f"RCPT TO:<{address}>\r\n".encode() for address in to_try),
        b"DATA\r\n",
    ]


def stuffed(raw: bytes) -> bytes:
    """Return the body as it goes over the wire: CRLF, dots doubled, without the final dot."""
    # Counted before they are looked for: most mail has none, and that takes a tenth.
    lines = raw.count(b"\r\n")
    if raw.count(b"\n") != lines or raw.count(b"\r") != lines:
        raw = re.sub(rb"\r\n|\r|\n", b"\r\n", raw)
    if not raw.endswith(b"\r\n"):
        raw += b"\r\n"
    stuffed = raw.replace(b"\r\n.", b"\r\n..")
    return b"." + stuffed if stuffed.startswith(b".") else stuffed
