"""What the package `emails` raises. Constructors take data, the classes own the text."""

# ruff: noqa: N818 -- a class is named for what is wrong, as ObjectDoesNotExist is

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.errors import EngineroomError

if TYPE_CHECKING:
    from emails.envelopes import ChannelError

SHOWN_CHARACTERS = 200


def shown(value: str) -> str:
    """Return the value as an error shows it: escaped, and cut to a length that a log can bear."""
    cut = value if len(value) <= SHOWN_CHARACTERS else value[:SHOWN_CHARACTERS] + "…"
    return ascii(cut)


class EmailError(EngineroomError):
    """The base of all errors of this package."""


class RefusedMessage(EmailError, ValueError):
    """The message cannot be queued as it is. The caller's transaction is untouched."""


class ForbiddenCharacter(RefusedMessage):
    """A header value, address, file name or media type holds a character that it may not."""

    def __init__(self, header: str, value: str, *, found: str) -> None:
        self.header, self.value, self.found = header, value, found
        super().__init__(
            f"{header} holds {found}: {shown(value)}. "
            "Allowed is one line of text with no CR, LF, NUL or lone surrogate."
        )


class InvalidHeaderName(RefusedMessage):
    """A header name outside RFC 5322 §2.2."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"The header name {shown(name)} is not allowed. "
            "Use printable ASCII characters without space or colon, [!-9;-~]+."
        )


class InvalidHeaderValue(RefusedMessage):
    """A header whose value does not have the form that this header needs."""

    def __init__(self, header: str, value: str, *, allowed: str) -> None:
        self.header, self.value = header, value
        super().__init__(f"{header} cannot be {shown(value)}. Allowed is {allowed}.")


class BccHeader(RefusedMessage):
    """A Bcc header would show the blind recipients to everybody."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"The header {shown(name)} would show the blind recipients to everybody. "
            "Pass the addresses as bcc=[…] instead."
        )


class RepeatedHeader(RefusedMessage):
    """A header that may stand once only was given twice."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"The header {shown(name)} is given twice. Give it once.")


class ReservedHeader(RefusedMessage):
    """A header that describes the message's own form."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"The header {shown(name)} is written when the message is built. "
            "Leave it out of headers={…}."
        )


class InvalidAddress(RefusedMessage):
    """Not a mailbox of RFC 5322 §3.4."""

    def __init__(self, header: str, value: str, *, problem: str) -> None:
        self.header, self.value, self.problem = header, value, problem
        super().__init__(
            f"{header} has the address {shown(value)}: {problem}. "
            'Allowed is user@domain, Name <user@domain> or "Name, with comma" <user@domain>.'
        )


class InvalidMediaType(RefusedMessage):
    """A media type that RFC 2045 §5.1 does not allow."""

    def __init__(self, value: str) -> None:
        self.value = value
        super().__init__(
            f"The media type {shown(value)} is not allowed. "
            'Use type/subtype, with parameters if need be, as in "text/calendar; method=REQUEST".'
        )


class UnencodableText(RefusedMessage):
    """Text that its character set cannot express."""

    def __init__(self, part: str, *, charset: str, reason: str) -> None:
        self.part, self.charset = part, charset
        super().__init__(
            f"The {part} cannot be written in the character set {shown(charset)}: {reason}. "
            "Use text without lone surrogates, and the character set utf-8."
        )


class MalformedMessage(RefusedMessage):
    """The parts could not be put together."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"The message cannot be built: {reason}. Check its attachments and alternatives."
        )


class InvalidEnvelope(EmailError, ValueError):
    """An envelope that would write something else than its addresses on the wire."""

    def __init__(self, address: str) -> None:
        self.address = address
        super().__init__(
            f"The envelope address {shown(address)} holds a control character or a lone surrogate. "
            "Use an address that emails.addresses has parsed."
        )


class InvalidDeliveryURL(EmailError, ValueError):
    """The setting that says where mail goes cannot be read."""

    def __init__(self, variable: str, masked: str, *, problem: str) -> None:
        self.variable, self.masked, self.problem = variable, masked, problem
        super().__init__(
            f"{variable}={masked} cannot be used: {problem}. Allowed are "
            "smtp://[user:password@]host[:port], smtps://…, smtp+tls://… (each with ?ca=/path or "
            "?verify=off), file:///directory and console:."
        )


class ChannelDown(EmailError):
    """No mail can be given to the server at the moment, whichever mail it is."""

    def __init__(self, error: ChannelError) -> None:
        self.error = error
        super().__init__(error.text)


class StaleConnection(EmailError):
    """A kept connection turned out to be closed before it took anything of this mail."""

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(f"The kept connection was closed by the server ({detail}).")


class PoolClosed(EmailError):
    """The pool was asked for a connection after it had been closed."""

    def __init__(self) -> None:
        super().__init__("The connection pool is closed. Open another transport.")


class InvalidOption(RefusedMessage):
    """An option of the call that queues a mail."""

    def __init__(self, name: str, value: str, allowed: str) -> None:
        self.name, self.value = name, value
        super().__init__(f"{name}={shown(value)} is not allowed: {allowed}.")


class UnsubscribeNeedsOneRecipient(RefusedMessage):
    """A mail with an unsubscribe address for several recipients."""

    def __init__(self, recipients: int) -> None:
        self.recipients = recipients
        super().__init__(
            f"unsubscribe= needs exactly one recipient and this mail has {recipients}: anyone of "
            "them could unsubscribe the others. Queue a mail for each."
        )


class UnsubscribeAddressMissing(EmailError):
    """The project does not serve the page of List-Unsubscribe."""

    def __init__(self) -> None:
        super().__init__(
            "unsubscribe= needs its page. Add "
            'path("mail/", include("emails.urls")) to the URLs of the project.'
        )


class UnknownMail(EngineroomError):
    """A mail that is not there."""

    def __init__(self, mail_id: int) -> None:
        self.mail_id = mail_id
        super().__init__(f"There is no mail {mail_id}: it never was, or it has been pruned.")
