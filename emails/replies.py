"""What an SMTP server's reply means for the mail. Pure: reply in, outcome out.

The reply's class decides (2, 4, 5), the enhanced code of RFC 3463 refines. See RFC 5321 §4.2.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

LONGEST_TEXT = 500
ENHANCED = re.compile(r"([245]\.\d{1,3}\.\d{1,3})(?:\s+|$)")
CREDENTIALS_WANTED = frozenset([530, 534, 535, 538])
CREDENTIALS_ENHANCED = frozenset(["5.7.0", "5.7.8", "5.7.9", "5.7.11"])


class Stage(enum.Enum):
    """The step of the conversation to which a reply belongs."""

    CONNECT = "connect"
    GREETING = "greeting"
    EHLO = "EHLO"
    STARTTLS = "STARTTLS"
    AUTH = "AUTH"
    MAIL = "MAIL"
    RCPT = "RCPT"
    DATA = "DATA"  # the reply to the command; 354 goes on and is no outcome
    DOT = "final dot"
    RSET = "RSET"
    NOOP = "NOOP"
    QUIT = "QUIT"


BEFORE_MAIL = frozenset([Stage.CONNECT, Stage.GREETING, Stage.EHLO, Stage.STARTTLS, Stage.AUTH])
HOUSEKEEPING = frozenset([Stage.RSET, Stage.NOOP, Stage.QUIT])


class Outcome(enum.Enum):
    """What came of one recipient in one attempt."""

    ACCEPTED = "accepted"  # the server has taken the mail for this recipient
    RETRY = "retry"  # a 4xx: try this recipient again by the backoff
    REFUSED = "refused"  # a 5xx: final at the first attempt
    TOO_MANY_RECIPIENTS = "too_many_recipients"  # not a failure: in the next transaction, at once
    THROTTLED_DOMAIN = "throttled_domain"  # this recipient's domain is to wait, others need not
    CHANNEL = "channel"  # not tried, or stopped by a failure of the channel: no attempt counts
    TOO_BIG = "too_big"  # final: above the server's SIZE
    NEEDS_SMTPUTF8 = "needs_smtputf8"  # final: the server has no way to name this address
    LOST = "lost"  # the connection broke before the final dot: as a 451
    UNCERTAIN = (
        "uncertain"  # the connection broke after the final dot: a retry may be a second copy
    )

    @property
    def is_final(self) -> bool:
        """Whether this recipient is never tried again."""
        return self in FINAL

    @property
    def is_failure_for_good(self) -> bool:
        """Whether this recipient will never get the mail."""
        return self in FINAL and self is not Outcome.ACCEPTED

    @property
    def counts_an_attempt(self) -> bool:
        """Whether the row has used up an attempt by it, when the recipient is still pending."""
        return self in {Outcome.RETRY, Outcome.LOST, Outcome.UNCERTAIN}


BY_ENHANCED_CODE = {
    "5.2.2": Outcome.RETRY,  # the mailbox is full today
    "5.3.4": Outcome.TOO_BIG,
    "5.6.7": Outcome.NEEDS_SMTPUTF8,  # RFC 6531 §3.5
}
FINAL = frozenset([Outcome.ACCEPTED, Outcome.REFUSED, Outcome.TOO_BIG, Outcome.NEEDS_SMTPUTF8])


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One reply of a server."""

    code: int
    enhanced: str = ""  # "5.1.1", or empty where the server gave none
    text: str = ""  # one line, without control characters

    def __str__(self) -> str:
        return " ".join(filter(None, (str(self.code), self.enhanced, self.text)))

    @property
    def is_positive(self) -> bool:
        """Whether the command was completed (2xx)."""
        return 200 <= self.code <= 299


def parse_reply(code: int, raw: bytes) -> Reply:
    """Make a reply of the code and the text lines, as smtplib's getreply returns them."""
    text = raw.decode("utf-8", "replace")
    if text.isprintable():  # so it is one line: most are, and a mail waits for each
        enhanced, text = _parted(text)
    else:
        parts = [_parted(line) for line in text.splitlines()]
        enhanced = next((found for found, _ in parts if found), "")
        joined = " ".join(rest for _, rest in parts)
        text = "".join(character if character.isprintable() else " " for character in joined)
    return Reply(code=code, enhanced=enhanced, text=" ".join(text.split())[:LONGEST_TEXT])


def _parted(line: str) -> tuple[str, str]:
    found = ENHANCED.match(line)
    return (found[1], line[found.end() :]) if found else ("", line)


def read_reply(raw: bytes) -> Reply:
    """Make a reply of its lines as they came, each with its code."""
    lines = raw.splitlines()
    said = lines[0][4:].strip() if len(lines) == 1 else b"\n".join(x[4:].strip() for x in lines)
    return parse_reply(int(lines[-1][:3]), said)


def classify(stage: Stage, reply: Reply) -> Outcome:
    """Say what a reply at this stage means for the recipients it concerns.

    At RCPT that is one recipient, later all accepted ones. Total: any code has an outcome.
    """
    if stage in BEFORE_MAIL or stage in HOUSEKEEPING:
        return Outcome.ACCEPTED if reply.is_positive else Outcome.CHANNEL
    match reply.code // 100:
        case 2 if stage is not Stage.DATA:
            return Outcome.ACCEPTED
        case 4:
            return _temporary(stage, reply)
        case 5:
            return _permanent(stage, reply)
        case _:  # no answer that SMTP knows, so nothing was agreed upon
            return Outcome.RETRY


def _temporary(stage: Stage, reply: Reply) -> Outcome:
    policy = reply.enhanced.startswith("4.7.")
    if stage is Stage.MAIL and (reply.code == 421 or reply.code == 454):  # noqa: PLR1714
        return Outcome.CHANNEL
    if reply.code in {421, 450} and policy and stage is not Stage.MAIL:
        return Outcome.THROTTLED_DOMAIN
    if reply.code == 421 and stage is not Stage.DOT:
        # After the dot it may be this very message that the server cannot take: then it has to
        # use up its attempts, or it would stop the channel for ever.
        return Outcome.CHANNEL
    if stage is Stage.RCPT and reply.code == 452 and reply.enhanced in {"", "4.5.3"}:
        return Outcome.TOO_MANY_RECIPIENTS
    return Outcome.RETRY


def _permanent(stage: Stage, reply: Reply) -> Outcome:
    if reply.code in CREDENTIALS_WANTED:
        return Outcome.CHANNEL if stage in {Stage.MAIL, Stage.RCPT} else Outcome.REFUSED
    if stage is Stage.MAIL and reply.enhanced in CREDENTIALS_ENHANCED:
        return Outcome.CHANNEL
    if reply.enhanced in BY_ENHANCED_CODE:
        return BY_ENHANCED_CODE[reply.enhanced]
    if stage is Stage.RCPT and reply.code == 552 and reply.enhanced in {"", "5.5.3"}:
        return Outcome.TOO_MANY_RECIPIENTS  # RFC 5321 §4.5.3.1.10
    if reply.code == 552 and not reply.enhanced:
        return Outcome.TOO_BIG
    return Outcome.REFUSED
