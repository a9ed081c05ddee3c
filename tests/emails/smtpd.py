"""SMTP servers for tests, on loopback: a scripted one that misbehaves as told, and a good one.

`python -m tests.emails.smtpd --log FILE [--port N] [--seconds-per-mail S]` runs the good one in a
process of its own: it prints its port, and writes each mail as one line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import select
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from aiosmtpd.smtp import SMTP, Envelope, Session

CERTIFICATE = Path(__file__).with_name("localhost.pem")  # self-made, for localhost and 127.0.0.1
EVERYTHING = ("PIPELINING", "SIZE 10000000", "8BITMIME", "SMTPUTF8", "ENHANCEDSTATUSCODES")
DROP = "drop"  # an answer: close the connection instead
HANG = "hang"  # an answer: say nothing until the server stops
DEFAULTS = {
    "connect": "220 scripted ready",
    "HELO": "250 scripted",
    "MAIL": "250 2.1.0 sender fine",
    "RCPT": "250 2.1.5 recipient fine",
    "DATA": "354 go ahead",
    "dot": "250 2.0.0 taken",
    "RSET": "250 2.0.0 forgotten",
    "NOOP": "250 2.0.0 here",
    "QUIT": "221 2.0.0 bye",
    "STARTTLS": "220 2.0.0 go",
}


@dataclass(frozen=True, kw_only=True)
class Mail:
    """One mail that a server has seen the final dot of, whatever it answered."""

    mail_from: str  # the argument of MAIL, parameters included
    recipients: tuple[str, ...]  # those it had accepted
    data: bytes  # dots undone
    answer: str


@dataclass(frozen=True, kw_only=True)
class Step:
    """The point in a conversation at which a script decides."""

    stage: str  # connect, HELO, EHLO, STARTTLS, AUTH, MAIL, RCPT, DATA, body, dot, RSET, NOOP, QUIT
    argument: str
    connection: int  # counted from 1
    count: int  # how often this stage has come on this connection, from 1
    mail: int  # which MAIL of the whole server this belongs to, from 1


Script = Callable[[Step], str | None]  # the reply, DROP or HANG; None: the default


@dataclass
class ScriptedServer:
    """A server in a thread that answers what its script says. Use it in a `with`."""

    script: Script | None = None
    extensions: Sequence[str] = EVERYTHING
    implicit_tls: bool = False
    credentials: tuple[str, str] | None = None
    reply_byte_delay: float = 0.0  # seconds between the bytes of a reply
    mails: list[Mail] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    writes: list[bytes] = field(default_factory=list)  # what each read brought, one write mostly
    host: str = "127.0.0.1"
    port: int = 0

    def __enter__(self) -> Self:
        """Listen."""
        self._stop = threading.Event()
        self._listener = socket.create_server((self.host, self.port))
        self.port = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self.connections = 0
        self.mail_commands = 0
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close everything and wait for the threads."""
        self._stop.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in self._open:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(timeout=5)

    def stages(self, *, connection: int | None = None) -> list[str]:
        """Return the stages that came, in order, of one connection or of all."""
        return [s.stage for s in self.steps if connection in {None, s.connection}]

    def arguments(self, stage: str) -> list[str]:
        """Return the arguments with which a stage came."""
        return [s.argument for s in self.steps if s.stage == stage]

    def replace(self, old: socket.socket, new: socket.socket) -> None:
        """Note that a connection goes on encrypted."""
        self._open[self._open.index(old)] = new

    def drop_all(self) -> None:
        """Close all connections, as a server does that restarts."""
        for sock in self._open:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self._stop.is_set():
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(sock)
            thread = threading.Thread(
                target=self._serve, args=(sock, self.connections), daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket, number: int) -> None:
        conversation = _Conversation(self, sock, number)
        with contextlib.suppress(OSError, _Dropped):
            conversation.run()
        conversation.close()


class _Dropped(Exception):  # noqa: N818
    """The connection is over."""


class _Conversation:
    def __init__(self, server: ScriptedServer, sock: socket.socket, number: int) -> None:
        self._server = server
        self._sock = sock
        self._number = number
        self._buffer = b""
        self._counts: dict[str, int] = {}
        self._signed_in = server.credentials is None
        self._sender = ""
        self._recipients: list[str] = []

    def run(self) -> None:
        if self._server.implicit_tls:
            self._encrypt()
        self._answer("connect", "")
        while True:
            line = self._line().decode("utf-8", "replace").strip()
            verb, _, argument = line.partition(" ")
            handler: Callable[[str], None] | None = getattr(self, f"_{verb.lower()}", None)
            if handler is None:
                self._answer(verb.upper(), argument, default="500 5.5.2 what?")
            else:
                handler(argument.strip())

    def close(self) -> None:
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)
        self._sock.close()

    def _ehlo(self, argument: str) -> None:
        lines = ["scripted", *self._server.extensions]
        default = "\r\n".join(f"250{'-' if line is not lines[-1] else ' '}{line}" for line in lines)
        self._answer("EHLO", argument, default=default)

    def _helo(self, argument: str) -> None:
        self._answer("HELO", argument)

    def _starttls(self, argument: str) -> None:
        if self._answer("STARTTLS", argument).startswith("220"):
            self._encrypt()

    def _auth(self, argument: str) -> None:
        mechanism, _, first = argument.partition(" ")
        user, password = self._server.credentials or ("", "")
        if mechanism == "LOGIN":
            named = base64.b64decode(first or self._ask(b"Username:"))
            given = b"\0".join([b"", named, base64.b64decode(self._ask(b"Password:"))])
        else:
            given = base64.b64decode(first)
        self._signed_in = given == f"\0{user}\0{password}".encode()
        right, wrong = "235 2.7.0 welcome", "535 5.7.8 no such user or password"
        self._answer("AUTH", mechanism, default=right if self._signed_in else wrong)

    def _ask(self, question: bytes) -> bytes:
        self._say("334 " + base64.b64encode(question).decode())
        return self._line()

    def _mail(self, argument: str) -> None:
        self._server.mail_commands += 1
        self._recipients = []
        self._sender = argument.partition(":")[2]
        default = None if self._signed_in else "530 5.7.0 sign in first"
        if not self._answer("MAIL", argument, default=default).startswith("2"):
            self._sender = ""

    def _rcpt(self, argument: str) -> None:
        address = argument.partition(":")[2].strip("<>")
        default = None if self._sender else "503 5.5.1 MAIL first"
        if self._answer("RCPT", address, default=default).startswith("2"):
            self._recipients.append(address)

    def _data(self, argument: str) -> None:
        default = None if self._recipients else "554 5.5.1 no valid recipients"
        if not self._answer("DATA", argument, default=default).startswith("354"):
            return
        early = self._decide("body", "")
        if early is not None:
            self._act(early)
            raise _Dropped
        data = self._body()
        decided = self._decide("dot", "")
        answer = DEFAULTS["dot"] if decided is None else decided
        if self._recipients:
            self._server.mails.append(
                Mail(
                    mail_from=self._sender,
                    recipients=tuple(self._recipients),
                    data=data,
                    answer=answer,
                )
            )
        self._sender, self._recipients = "", []
        self._act(answer)

    def _rset(self, argument: str) -> None:
        self._sender, self._recipients = "", []
        self._answer("RSET", argument)

    def _noop(self, argument: str) -> None:
        self._answer("NOOP", argument)

    def _quit(self, argument: str) -> None:
        self._answer("QUIT", argument)
        raise _Dropped

    def _body(self) -> bytes:
        lines = []
        while (line := self._line()) != b".\r\n":
            lines.append(line[1:] if line.startswith(b".") else line)
        return b"".join(lines)

    def _answer(self, stage: str, argument: str, *, default: str | None = None) -> str:
        decided = self._decide(stage, argument)
        answer = decided if decided is not None else default or DEFAULTS[stage]
        self._act(answer)
        return answer

    def _decide(self, stage: str, argument: str) -> str | None:
        self._counts[stage] = self._counts.get(stage, 0) + 1
        step = Step(
            stage=stage,
            argument=argument,
            connection=self._number,
            count=self._counts[stage],
            mail=self._server.mail_commands,
        )
        self._server.steps.append(step)
        return self._server.script(step) if self._server.script else None

    def _act(self, answer: str) -> None:
        if answer == DROP:
            raise _Dropped
        if answer == HANG:
            self._hang()
        self._say(answer)
        if answer.startswith("421"):
            raise _Dropped

    def _hang(self) -> None:
        while not self._server._stop.wait(0.02):
            if select.select([self._sock], [], [], 0)[0] and not self._sock.recv(4096):
                break
        raise _Dropped

    def _say(self, text: str) -> None:
        data = f"{text}\r\n".encode()
        if not self._server.reply_byte_delay:
            self._sock.sendall(data)
            return
        for byte in data:
            self._sock.sendall(bytes([byte]))
            if self._server._stop.wait(self._server.reply_byte_delay):
                raise _Dropped

    def _line(self) -> bytes:
        while b"\n" not in self._buffer:
            data = self._sock.recv(65536)
            if not data:
                raise _Dropped
            self._server.writes.append(data)
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line + b"\n"

    def _encrypt(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        plain = self._sock
        self._sock = context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        self._server.replace(plain, self._sock)
        self._sock.do_handshake()
        self._buffer = b""


class _Recorder:
    def __init__(self, log: Path, *, seconds_per_mail: float) -> None:
        self._log = log.open("a", buffering=1)
        self._seconds = seconds_per_mail

    async def handle_DATA(self, _server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        content = envelope.content
        record = {
            "mail_from": envelope.mail_from,
            "recipients": envelope.rcpt_tos,
            "data": content.decode("utf-8", "surrogateescape") if content else "",
            "peer": str(session.peer),
        }
        await asyncio.sleep(self._seconds)
        self._log.write(json.dumps(record) + "\n")
        return "250 2.0.0 taken"


@dataclass
class ServerProcess:
    """The good server in a process of its own. Use it in a `with`."""

    log: Path
    seconds_per_mail: float = 0.0
    port: int = 0

    def __enter__(self) -> Self:
        """Start it and wait until it listens."""
        command = [sys.executable, "-m", "tests.emails.smtpd", "--log", str(self.log)]
        command += ["--port", str(self.port), "--seconds-per-mail", str(self.seconds_per_mail)]
        root = Path(__file__).parents[2]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self._process.kill()
        self._process.wait(timeout=10)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def mails(self) -> list[dict[str, Any]]:
        """Return what it has taken so far."""
        if not self.log.exists():
            return []
        with self.log.open() as lines:
            return [json.loads(line) for line in lines if line.endswith("\n")]


def wait_until(condition: Callable[[], object], *, seconds: float = 10.0) -> None:
    """Wait for a condition, and fail when it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        time.sleep(0.005)


@contextlib.contextmanager
def unused_port() -> Iterator[int]:
    """Lend a port at which nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield sock.getsockname()[1]


async def _run(log: Path, *, port: int, seconds_per_mail: float) -> None:
    recorder = _Recorder(log, seconds_per_mail=seconds_per_mail)
    server = await asyncio.get_running_loop().create_server(
        lambda: SMTP(recorder, hostname="localhost", enable_SMTPUTF8=True), "127.0.0.1", port
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main() -> None:
    """Run the good server until it is killed."""
    parser = argparse.ArgumentParser(description="A good SMTP server for tests")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seconds-per-mail", type=float, default=0.0)
    given = parser.parse_args()
    asyncio.run(_run(given.log, port=given.port, seconds_per_mail=given.seconds_per_mail))


if __name__ == "__main__":
    main()
