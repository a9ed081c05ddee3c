"""Where mail goes: the setting EMAIL_DELIVERY_URL read, and a transport opened from it."""

from __future__ import annotations

import enum
import functools
import re
import urllib.parse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from emails.envelopes import BeforeDot, DeliveryResult, Envelope, channel_down
from emails.errors import ChannelDown, InvalidDeliveryURL, StaleConnection
from emails.files import ConsoleTransport, FileTransport
from emails.pool import Pool
from emails.smtp import open_connection
from emails.smtp_client import Security, Server, Timeouts

VARIABLE = "EMAIL_DELIVERY_URL"
CONTROL = re.compile(r"[\x00-\x20\x7f]")
OPTIONS = frozenset(["ca", "verify"])


class Scheme(enum.Enum):
    """The ways to deliver."""

    SMTP = "smtp"
    SMTPS = "smtps"
    SMTP_TLS = "smtp+tls"
    FILE = "file"
    CONSOLE = "console"


SECURITY = {
    Scheme.SMTP: Security.NONE,
    Scheme.SMTPS: Security.IMPLICIT,
    Scheme.SMTP_TLS: Security.STARTTLS,
}
PORTS = {Scheme.SMTP: 25, Scheme.SMTPS: 465, Scheme.SMTP_TLS: 587}


@dataclass(frozen=True, kw_only=True)
class DeliveryURL:
    """A delivery configuration, read and checked."""

    scheme: Scheme
    masked: str  # what may be shown: without the password
    server: Server | None = None
    directory: Path | None = None
    text: str = field(default="", repr=False)  # as it was given, password and all

    def __str__(self) -> str:
        """Show it without the password."""
        return self.masked


class Transport(Protocol):
    """A way to deliver, to be used by many threads at once."""

    def deliver(self, envelope: Envelope, *, before_dot: BeforeDot) -> DeliveryResult:
        """Try once to deliver; failures are in the result.

        `before_dot` is called just before the mail is out of our hands: what it raises goes
        through, and the mail is not delivered.
        """
        ...

    def close_idle(self) -> None:
        """Let go of what has not been used for a while."""
        ...

    def close(self) -> None:
        """Take leave once nothing is being delivered any more."""
        ...

    def abort(self) -> None:
        """Break off what is being delivered: its results come at once, LOST or UNCERTAIN."""
        ...


class SMTPTransport:
    """Delivers over a pool of connections to one server."""

    def __init__(
        self, server: Server, *, connections: int, timeouts: Timeouts | None = None
    ) -> None:
        """Make a transport that opens at most so many connections, each when it is needed."""
        opener = functools.partial(open_connection, server, timeouts=timeouts)
        self.pool = Pool(opener, size=connections)

    def deliver(self, envelope: Envelope, *, before_dot: BeforeDot) -> DeliveryResult:
        """Try once; connections that the server closed in the meantime are replaced."""
        while True:  # ends: each turn uses up a kept connection, and a new one is never stale
            try:
                with self.pool.connection() as connection:
                    return connection.deliver(envelope, before_dot=before_dot)
            except StaleConnection:
                continue
            except ChannelDown as error:
                return channel_down(envelope.recipients, error.error)

    def close_idle(self) -> None:
        """Close the connections that have rested too long."""
        self.pool.close_idle()

    def close(self) -> None:
        """Take leave of the server."""
        self.pool.close()

    def abort(self) -> None:
        """Break off every conversation."""
        self.pool.abort()


def parse_delivery_url(value: str, *, variable: str = VARIABLE) -> DeliveryURL:
    """Read a delivery URL; `variable` names the setting in errors.

    Raises InvalidDeliveryURL, a ValueError, which shows the value without its password.
    """
    text = value.strip()
    try:
        return _parsed(text)
    except ValueError as error:
        raise InvalidDeliveryURL(variable, mask(text), problem=str(error)) from None


def open_transport(
    url: DeliveryURL, *, connections: int = 4, timeouts: Timeouts | None = None
) -> Transport:
    """Return the transport for a delivery URL. Nothing is connected or written yet."""
    if url.server is not None:
        return SMTPTransport(url.server, connections=connections, timeouts=timeouts)
    if url.directory is not None:
        return FileTransport(url.directory)
    return ConsoleTransport()


def mask(text: str) -> str:
    """Return a URL as it may be shown: whatever may be a password replaced by ***."""
    hidden = re.sub(r"(//[^:/@]*):.*@", r"\1:***@", text, flags=re.DOTALL)
    hidden = re.sub(r"(//[^:@\[]+):(?!\d{1,5}(?:[/?#]|$)|\*\*\*@)[^@]*$", r"\1:***", hidden)
    return CONTROL.sub("?", hidden)


def _parsed(text: str) -> DeliveryURL:
    if CONTROL.search(text):
        raise ValueError("it holds a space or a control character")
    parts = urllib.parse.urlsplit(text)
    try:
        scheme = Scheme(parts.scheme)
    except ValueError:
        raise ValueError("its scheme is not known" if text else "it is empty") from None
    if parts.fragment:
        raise ValueError("it holds a #; write #, /, ? and @ in a password as %23, %2F, %3F, %40")
    match scheme:
        case Scheme.CONSOLE:
            _refuse_rest(parts.netloc + parts.path + parts.query)
            return DeliveryURL(scheme=scheme, masked=text, text=text)
        case Scheme.FILE:
            return DeliveryURL(scheme=scheme, masked=text, text=text, directory=_directory(parts))
        case _:
            server = _server(scheme, parts)
            return DeliveryURL(scheme=scheme, masked=mask(text), text=text, server=server)


def _refuse_rest(rest: str) -> None:
    if rest:
        raise ValueError("nothing may follow console:")


def _directory(parts: urllib.parse.SplitResult) -> Path:
    path = urllib.parse.unquote(parts.path)
    if parts.netloc or parts.query or not path.startswith("/") or path == "/":
        raise ValueError("a directory is given with three slashes, as in file:///var/mail/out")
    return Path(path)


def _server(scheme: Scheme, parts: urllib.parse.SplitResult) -> Server:
    try:
        port = parts.port
    except ValueError:
        raise ValueError("its port is not a number from 1 to 65535") from None
    if port == 0:
        raise ValueError("its port is not a number from 1 to 65535")
    if not parts.hostname:
        raise ValueError("it names no host")
    if parts.path.strip("/"):
        raise ValueError("a path follows the host; write a / in a password as %2F")
    user, password = _credentials(parts)
    options = _options(parts.query)
    return Server(
        host=parts.hostname,
        port=port or PORTS[scheme],
        security=SECURITY[scheme],
        user=user,
        password=password,
        ca=options.get("ca", ""),
        verify=options.get("verify", "on") == "on",
    )


def _credentials(parts: urllib.parse.SplitResult) -> tuple[str, str]:
    user, password = (
        urllib.parse.unquote(text or "", errors="strict")
        for text in (parts.username, parts.password)
    )
    if bool(user) != bool(password):
        raise ValueError("user and password are given together or not at all")
    return user, password


def _options(query: str) -> dict[str, str]:
    options = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
    if not OPTIONS.issuperset(options):
        raise ValueError("an option after ? is not ca or verify")
    if options.get("verify", "on") not in {"on", "off"}:
        raise ValueError("verify is neither on nor off")
    if "ca" in options and not Path(options["ca"]).is_file():
        raise ValueError("the file named by ca does not exist")
    return options
