"""A connection to an SMTP server: opened, used for many mails one after the other, closed.

On smtplib's primitives, not its `sendmail`: that one hides which recipients were refused, and a
connection lost before the greeting looks to it as one lost after the final dot.
"""

from __future__ import annotations

import contextlib
import smtplib
import socket
import ssl
from collections.abc import Mapping

from emails.envelopes import BeforeDot, ChannelError, DeliveryResult, Envelope
from emails.errors import ChannelDown, StaleConnection
from emails.replies import Reply, Stage, parse_reply
from emails.smtp_client import (
    Client,
    DeadlineReader,
    Record,
    Security,
    Server,
    Timeouts,
    Transcript,
    tls_context,
)
from emails.transactions import Transaction

SERVICE_READY = 220
CHECK_SECONDS = 10.0  # for RSET, which no server has to think about
QUIT_SECONDS = 5.0


class Connection:
    """One kept connection. Used by one thread at a time; `abort` may come from any."""

    def __init__(self, server: Server, *, timeouts: Timeouts | None = None) -> None:
        """Prepare a connection; `open` connects."""
        self._server = server
        self.timeouts = timeouts or Timeouts()
        self._client = Client(server, timeouts=self.timeouts)
        self._reset_due = False
        self._aborted = False
        self.messages = 0  # begun on this connection

    def __repr__(self) -> str:
        """Show where it leads; credentials are in nobody's interest."""
        return f"<Connection {self._server.host}:{self._server.port} messages={self.messages}>"

    @property
    def sock(self) -> socket.socket | None:
        """The socket; None once it is closed."""
        return self._client.sock

    def is_gone(self) -> bool:
        """Whether the server has hung up, or spoken out of turn; see `Client.is_gone`."""
        return self._client.is_gone()

    def fileno(self) -> int:
        """Return what a selector asks for; -1 once it is closed."""
        return -1 if self._client.sock is None else self._client.sock.fileno()

    @property
    def features(self) -> Mapping[str, str]:
        """What the server offers, by its name in lower case, with its parameters."""
        return self._client.esmtp_features

    @property
    def is_free(self) -> bool:
        """Whether nothing is left to be read of what was said before."""
        has_more = isinstance(self._client.file, DeadlineReader) and self._client.file.has_more
        return self.usable and not self._reset_due and not has_more

    @property
    def usable(self) -> bool:
        """Whether another mail can be given to it, as far as is known without asking."""
        return self._client.sock is not None and not self._aborted

    def open(self) -> None:
        """Connect, greet, encrypt and sign in. Raises ChannelDown."""
        try:
            self._connect()
            self._greet()
            if self._server.security is Security.STARTTLS:
                self._encrypt()
                self._greet()
            if self._server.user:
                self._sign_in()
        except BaseException:
            self._client.close()
            raise
        if self._aborted:
            self._client.close()
            raise ChannelDown(ChannelError(stage=Stage.CONNECT, detail="aborted"))

    def deliver(self, envelope: Envelope, *, before_dot: BeforeDot) -> DeliveryResult:
        """Give one mail to the server and say what came of each recipient.

        `before_dot` is called when all but the final dot is sent; what it raises goes through,
        and the mail is not sent. Raises StaleConnection if this kept connection was already
        closed: nothing of the mail was taken, so another connection can be tried at once.
        """
        self.messages += 1
        if not self._finish_reset():
            raise StaleConnection("while it was not in use")
        return self._conclude(envelope, self._client, before_dot)

    def go_on(
        self, envelope: Envelope, transcript: Transcript, *, before_dot: BeforeDot
    ) -> DeliveryResult:
        """Bring a mail to its end that was begun here by others; otherwise as `deliver`."""
        if transcript.is_over:
            client: Client = Record(self._client, transcript)
        else:
            client = self._client
            client.resume(said=transcript.said, heard=transcript.heard)
        return self._conclude(envelope, client, before_dot)

    def _conclude(
        self, envelope: Envelope, client: Client, before_dot: BeforeDot
    ) -> DeliveryResult:
        transaction = Transaction(client, envelope, timeouts=self.timeouts)
        result = transaction.run(before_dot)
        if self.messages > 1 and transaction.found_closed and not self._aborted:
            raise StaleConnection("at the first command")
        if not transaction.is_completed:
            self._start_reset()
        return result

    def reset(self) -> bool:
        """Make the server forget a half-made transaction. False: it is gone, and so is this."""
        self._start_reset()
        return self._finish_reset()

    def settle(self) -> bool:
        """Hear the last of what was said before. False: the server is gone."""
        return self.is_free or (self._finish_reset() and self.is_free)

    def quit(self) -> None:
        """Take leave and close. That the server has gone already is no failure."""
        if self._client.sock is None:
            return
        try:
            self._client.allow(QUIT_SECONDS)
            if self._reset_due:
                self._client.getreply()
            self._client.docmd("QUIT")
        except (OSError, smtplib.SMTPException):
            pass  # every mail has had its reply by now
        finally:
            self._client.close()

    def close(self) -> None:
        """End it at once, without a word."""
        self._client.close()

    def abort(self) -> None:
        """End it from another thread: whoever waits on it gets an error at once."""
        self._aborted = True
        sock = self._client.sock
        if sock is not None:
            with contextlib.suppress(OSError):  # closed in this moment
                socket.socket.shutdown(sock, socket.SHUT_RDWR)

    def _start_reset(self) -> None:
        # Sent now, its reply read before the next mail: the server works on it meanwhile.
        if not self.usable or self._reset_due:
            return
        try:
            self._client.allow(CHECK_SECONDS)
            self._client.write(b"RSET\r\n")
            self._reset_due = True
        except OSError:
            self._client.close()

    def _finish_reset(self) -> bool:
        if self._reset_due:
            self._reset_due = False
            try:
                self._client.allow(CHECK_SECONDS)
                code, _ = self._client.getreply()
            except (OSError, smtplib.SMTPException):
                code = -1
            if not 200 <= code <= 299:
                self._client.close()
        return self.usable

    def _connect(self) -> None:
        try:
            self._client.allow(self.timeouts.connect)
            code, text = self._client.connect(self._server.host, self._server.port)
        except smtplib.SMTPException as error:
            raise _down(Stage.GREETING, error) from error
        except (OSError, ValueError) as error:
            raise _down(Stage.CONNECT, error) from error
        if code != SERVICE_READY:
            raise _refused(Stage.GREETING, parse_reply(code, text))

    def _greet(self) -> None:
        try:
            self._client.allow(self.timeouts.command)
            code, text = self._client.ehlo()
            if 500 <= code <= 599:
                code, text = self._client.helo()
        except (OSError, smtplib.SMTPException) as error:
            raise _down(Stage.EHLO, error) from error
        if not 200 <= code <= 299:
            raise _refused(Stage.EHLO, parse_reply(code, text))

    def _encrypt(self) -> None:
        try:
            self._client.allow(self.timeouts.command)
            code, text = self._client.starttls(context=tls_context(self._server))
        except smtplib.SMTPNotSupportedError as error:
            detail = "the server does not offer STARTTLS, and smtp+tls:// requires it"
            raise ChannelDown(ChannelError(stage=Stage.STARTTLS, detail=detail)) from error
        except smtplib.SMTPResponseException as error:
            raise _refused(Stage.STARTTLS, _reply_of(error)) from error
        except (OSError, smtplib.SMTPException) as error:
            raise _down(Stage.STARTTLS, error) from error
        if code != SERVICE_READY:
            raise _refused(Stage.STARTTLS, parse_reply(code, text))

    def _sign_in(self) -> None:
        try:
            self._client.allow(self.timeouts.command)
            self._client.login(self._server.user, self._server.password)
        except smtplib.SMTPResponseException as error:
            raise _refused(Stage.AUTH, _reply_of(error)) from None
        except (OSError, smtplib.SMTPException, UnicodeError) as error:
            detail = "the password is not ASCII" if isinstance(error, UnicodeError) else str(error)
            raise ChannelDown(ChannelError(stage=Stage.AUTH, detail=detail)) from None


def open_connection(server: Server, *, timeouts: Timeouts | None = None) -> Connection:
    """Return an open connection. Raises ChannelDown."""
    connection = Connection(server, timeouts=timeouts)
    connection.open()
    return connection


def _reply_of(error: smtplib.SMTPResponseException) -> Reply:
    text = error.smtp_error
    return parse_reply(error.smtp_code, text if isinstance(text, bytes) else text.encode())


def _refused(stage: Stage, reply: Reply) -> ChannelDown:
    return ChannelDown(ChannelError(stage=stage, reply=reply))


def _down(stage: Stage, error: Exception) -> ChannelDown:
    kind = "TLS failed: " if isinstance(error, ssl.SSLError) else ""
    detail = str(error) or type(error).__name__
    return ChannelDown(ChannelError(stage=stage, detail=f"{kind}{detail}"))
