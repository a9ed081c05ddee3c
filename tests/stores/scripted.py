"""
A server that answers as a test tells it: for what no real store can be made to say at will.

Older stores that know no newer checksum, answers that leave a key out, pages of proxies.
"""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

HOST = "127.0.0.1"
ERROR = "<Error><Code>{}</Code><Message>as the test says</Message></Error>"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    body: bytes


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is sent back."""

    status: int = 200
    body: str = ""
    claimed_bytes: int | None = None  # more than there are: the connection breaks off


class ScriptedStore:
    """Answers each request by ``answer``, and remembers what was asked."""

    def __init__(self, answer: Callable[[Asked], Answer]) -> None:
        self.asked: list[Asked] = []
        self.answer = answer
        store = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                asked = Asked(method=self.command, path=self.path, body=self.rfile.read(size))
                store.asked.append(asked)
                answer = store.answer(asked)
                content = answer.body.encode()
                self.send_response(answer.status)
                self.send_header("Content-Type", "application/xml")
                self.send_header("Content-Length", str(answer.claimed_bytes or len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_DELETE = do_GET = do_HEAD = do_POST = do_PUT = handle_any  # noqa: N815 (names of the base class)

            def log_message(self, *_args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer((HOST, 0), Handler)
        self.endpoint = f"s3://somekey:somesecret@{HOST}:{self._server.server_port}/?secure=off"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *_args: object) -> None:
        self._server.shutdown()
        self._thread.join(timeout=10)
        self._server.server_close()


def error(code: str, *, status: int) -> Answer:
    """Return an answer that is an error."""
    return Answer(status=status, body=ERROR.format(code))
