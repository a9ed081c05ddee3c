"""
An SMTP server that writes down each mail at its final dot, before it answers.

``python -m tests.crash.smtp_sink LOG [--seconds S]`` prints its port. What it answers depends on
the local part of a recipient: ``refused-550``, ``grey-2`` (451 at the first two RCPT),
``drop-1`` (closes after the dot, once), ``late-1.5`` (answers the dot so much later, once),
``late451-1.5`` (with 451, once), ``bad-554`` (refused after the dot), ``stuck`` (no answer).
What follows a plus sign tells apart addresses of one kind.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import re
from collections import Counter
from pathlib import Path

LIMIT = 1 << 24
DROP = "drop"
MESSAGE_ID = re.compile(rb"^Message-ID:\s*(\S+)", re.IGNORECASE | re.MULTILINE)


class Server:
    """What all conversations share: the log, and how often each address was named."""

    def __init__(self, log: Path, *, seconds: float) -> None:
        self._log = log.open("a", buffering=1)
        self._seconds = seconds
        self._named: Counter[str] = Counter()
        self._sent: Counter[str] = Counter()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hold one conversation."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await self._talk(reader, writer)
        writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        recipients: list[str] = []
        writer.write(b"220 sink\r\n")
        while line := await reader.readline():
            verb = line[:4].upper()
            if verb == b"EHLO":
                answer = "250-sink\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 ENHANCEDSTATUSCODES"
            elif verb == b"RCPT":
                answer = self._rcpt(line, recipients)
            elif verb == b"DATA" and recipients:
                writer.write(b"354 go on\r\n")
                body = await reader.readuntil(b"\r\n.\r\n")
                answer = await self._dot(body[:-3], recipients)
                recipients = []
            elif verb == b"DATA":
                answer = "554 5.5.1 no recipients"
            elif verb == b"QUIT":
                answer = "221 2.0.0 bye"
            else:
                recipients = [] if verb in (b"MAIL", b"RSET") else recipients
                answer = "250 2.0.0 fine"
            if answer == DROP:
                return
            writer.write(answer.encode() + b"\r\n")
            if verb == b"QUIT":
                return

    def _rcpt(self, line: bytes, recipients: list[str]) -> str:
        address = line.partition(b":")[2].strip().strip(b"<>").decode()
        kind, argument = manner(address)
        self._named[address] += 1
        if kind == "refused":
            return f"{argument} 5.1.1 nobody of that name"
        if kind == "grey" and self._named[address] <= int(argument):
            return "451 4.3.0 come again"
        recipients.append(address)
        return "250 2.1.5 fine"

    async def _dot(self, body: bytes, recipients: list[str]) -> str:
        answer, seconds = "250 2.0.0 taken", self._seconds
        for address in recipients:
            kind, argument = manner(address)
            self._sent[address] += 1
            first = self._sent[address] == 1
            if kind == "bad":
                answer = f"{argument} 5.6.0 unwanted"
            elif kind == "stuck":
                seconds = 3600
            elif kind in ("late", "late451") and first:
                seconds = float(argument)
                answer = answer if kind == "late" else "451 4.3.0 not now"
            elif kind == "drop" and self._sent[address] <= int(argument):
                answer = DROP
        found = MESSAGE_ID.search(body)
        record = {
            "message_id": found[1].decode() if found else "",
            "sha256": hashlib.sha256(body).hexdigest(),
            "recipients": recipients,
            "answer": answer,
        }
        self._log.write(json.dumps(record) + "\n")
        await asyncio.sleep(seconds)
        return answer


def manner(address: str) -> tuple[str, str]:
    """Return how an address wants to be treated, and with what."""
    kind, _, argument = address.partition("@")[0].partition("+")[0].partition("-")
    return kind, argument


async def serve(log: Path, *, seconds: float) -> None:
    """Listen on any free port until killed."""
    server = Server(log, seconds=seconds)
    listening = await asyncio.start_server(server.talk, "127.0.0.1", 0, limit=LIMIT)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await listening.serve_forever()


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="An SMTP server for tests that kill")
    parser.add_argument("log", type=Path)
    parser.add_argument("--seconds", type=float, default=0.0, help="from the dot to the answer")
    given = parser.parse_args()
    asyncio.run(serve(given.log, seconds=given.seconds))


if __name__ == "__main__":
    main()
