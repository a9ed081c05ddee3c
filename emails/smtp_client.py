"""smtplib's client with deadlines, and a conversation that is gone through once more.

A reply has so much time as a whole, however slowly it drips.
"""

from __future__ import annotations

import base64
import enum
import io
import smtplib
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from django.core.mail.utils import DNS_NAME

LONGEST_REPLY = 1_000_000  # bytes; a server that never ends its reply must not fill the memory
MOST_CHALLENGES = 5


class Security(enum.Enum):
    """How the conversation is encrypted."""

    NONE = "none"
    STARTTLS = "starttls"  # required: without it nothing is said
    IMPLICIT = "implicit"


@dataclass(frozen=True, kw_only=True)
class Server:
    """Where and how to connect."""

    host: str
    port: int
    security: Security = Security.NONE
    user: str = ""
    password: str = field(default="", repr=False)
    ca: str = ""  # a file of certificates to trust instead of the system's
    verify: bool = True


@dataclass(frozen=True, kw_only=True)
class Timeouts:
    """How long a server may take, in seconds."""

    connect: float = 30.0  # for each of its addresses, TLS included
    command: float = 60.0  # until the whole reply is there
    data: float = 180.0  # for one block of the body
    final: float = 120.0  # from the final dot to its reply


class Client(smtplib.SMTP):
    """smtplib's client with a deadline per reply, TCP_NODELAY, and credentials in UTF-8."""

    def __init__(self, server: Server, *, timeouts: Timeouts) -> None:
        """Prepare a client; nothing is connected yet."""
        super().__init__(local_hostname=DNS_NAME.get_fqdn(), timeout=timeouts.connect)
        self._host = server.host  # what smtplib checks certificates against
        self.server = server
        self._deadline = 0.0
        self._seconds = 0.0
        self._said = 0  # bytes of what will be written that are written already
        self.timed_out = False

    def resume(self, *, said: int, heard: bytes) -> None:
        """Begin a conversation again that has got so far: to its caller it looks new."""
        assert self.sock is not None
        self._said = said
        self.file = DeadlineReader(self.sock, remaining=self.remaining, heard=heard)

    def allow(self, seconds: float) -> None:
        """Give the next block to be sent, or the next reply to come, so much time."""
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        if self.sock is not None:
            self.sock.settimeout(seconds)

    def remaining(self) -> float:
        """Return the seconds left for the current reply. Raises TimeoutError when none are."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            self.timed_out = True
            raise TimeoutError(f"no reply within {self._seconds:g} s")
        return left

    def getreply(self) -> tuple[int, bytes]:
        """Read one reply within the time allowed; see `smtplib.SMTP.getreply`."""
        if self.file is None and self.sock is not None:
            self.file = DeadlineReader(self.sock, remaining=self.remaining)
        return super().getreply()

    def write(self, data: bytes | memoryview) -> None:
        """Send bytes as they are. Raises OSError, and leaves the socket open to read why."""
        if self.sock is None:
            raise ConnectionError("the connection is closed")
        if self._said:
            skipped = min(self._said, len(data))
            self._said -= skipped
            data = data[skipped:]
        if data:
            self.sock.sendall(data)

    def is_gone(self) -> bool:
        """Whether the server has closed the connection, or spoken out of turn to say that it will.

        Not known over TLS, whose records come unasked.
        """
        if isinstance(self.file, DeadlineReader) and self.file.has_more:
            return True
        if self.sock is None or isinstance(self.sock, ssl.SSLSocket):
            return self.sock is None
        if self.sock.gettimeout() != 0:
            self.sock.settimeout(0)
        try:
            self.sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def auth(
        self, mechanism: str, authobject: Any, *, initial_response_ok: bool = True
    ) -> tuple[int, bytes]:
        """Authenticate as smtplib does, with UTF-8 (RFC 4616) where that allows ASCII only."""
        first = authobject() if initial_response_ok else None
        if first is None:
            code, challenge = self.docmd("AUTH", mechanism)
        else:
            code, challenge = self.docmd("AUTH", f"{mechanism} {_base64(first)}")
        self._auth_challenge_count = 0 if first is None else 1  # auth_login asks for it
        while code == 334 and self._auth_challenge_count < MOST_CHALLENGES:
            self._auth_challenge_count += 1
            answer = authobject(base64.decodebytes(challenge))
            code, challenge = self.docmd(_base64(answer))
        if code in {235, 503}:
            return code, challenge
        raise smtplib.SMTPAuthenticationError(code, challenge)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        plain = socket.create_connection((host, port), timeout)
        # The commit before the final dot splits body and dot into two writes: with Nagle's
        # algorithm the second would wait 40 ms for the acknowledgement of the first.
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.server.security is not Security.IMPLICIT:
            return plain
        try:
            return tls_context(self.server).wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise


class DeadlineReader:
    """Reads lines off a socket until a deadline, however slowly they drip."""

    def __init__(
        self, sock: socket.socket, *, remaining: Callable[[], float], heard: bytes = b""
    ) -> None:
        """Read what was `heard` already, then `sock` as long as `remaining()` gives seconds."""
        self._sock = sock
        self._remaining = remaining
        self._buffer = heard
        self._taken = 0

    @property
    def has_more(self) -> bool:
        """Whether something was read that nobody has asked for yet."""
        return bool(self._buffer)

    def readline(self, limit: int) -> bytes:
        """Return one line with its end, what there was before the end, or `limit` bytes."""
        while b"\n" not in self._buffer and len(self._buffer) < limit:
            self._sock.settimeout(self._remaining())
            try:
                data = self._sock.recv(8192)
            except TimeoutError:
                self._remaining()
                continue
            if not data:
                break
            self._buffer += data
        end = self._buffer.find(b"\n") + 1 or len(self._buffer)
        line, self._buffer = self._buffer[: min(end, limit)], self._buffer[min(end, limit) :]
        self._taken = self._taken + len(line) if line[3:4] == b"-" else 0
        if self._taken > LONGEST_REPLY:
            raise OSError("the reply never ends")
        return line

    def close(self) -> None:
        """Forget what was read ahead; the socket is closed by its owner."""
        self._buffer = b""


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """What was said and heard of a mail by others."""

    said: int  # bytes
    heard: bytes
    is_over: bool  # the mail does not go on over that connection
    end: OSError | None = None  # by which the connection ended


class Record(Client):
    """A conversation that is over, gone through once more to see what came of it."""

    def __init__(self, client: Client, transcript: Transcript) -> None:
        """Take the client's server for what it said of itself, and nothing else of it."""
        super().__init__(client.server, timeouts=Timeouts())
        self.does_esmtp, self.esmtp_features = client.does_esmtp, client.esmtp_features
        self._said = transcript.said
        self._end = transcript.end or ConnectionError("the conversation went no further")
        self._heard = io.BytesIO(transcript.heard)
        self._length = len(transcript.heard)
        self.file = self._heard
        self.sock = cast("socket.socket", self._heard)  # there to be closed

    def allow(self, seconds: float) -> None:
        """Allow nothing: it is over."""

    def write(self, data: bytes | memoryview) -> None:
        """Take what was said. Raises what ended the conversation."""
        if len(data) > self._said:
            raise self._end
        self._said -= len(data)

    def getreply(self) -> tuple[int, bytes]:
        """Give what was heard. Raises what ended the conversation."""
        if self._heard.tell() == self._length:
            self.timed_out = isinstance(self._end, TimeoutError)
            raise self._end
        return smtplib.SMTP.getreply(self)

    def is_gone(self) -> bool:
        """Whether nothing was said any more."""
        return not self._said


def tls_context(server: Server) -> ssl.SSLContext:
    """Return the rules for TLS with this server. Raises OSError if its `ca` cannot be read."""
    context = ssl.create_default_context(cafile=server.ca or None)
    if not server.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _base64(text: str) -> str:
    return base64.b64encode(text.encode("utf-8")).decode("ascii")
