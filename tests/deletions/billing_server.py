"""A billing service over real HTTP, in threads of its own."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

SECRET = "only-for-tests"


@dataclass(frozen=True, kw_only=True)
class Received:
    """One request, and what it was answered with."""

    body: dict[str, Any]
    headers: dict[str, str]
    status: int
    is_signed: bool


class BillingServer:
    """Answers what it is told to; knows who has been cancelled. Use it in a ``with``."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.cancelled: set[str] = set()  # the keys under which a cancellation succeeded
        self.answer: tuple[int, str] | None = None  # in place of its own
        self.before_answer: Callable[[], None] = lambda: None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                status, text = service.take(raw, {k.lower(): v for k, v in self.headers.items()})
                service.before_answer()
                with contextlib.suppress(ConnectionError):  # the caller has given up
                    self._answer(status, text)

            def _answer(self, status: int, text: str) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(text.encode())))
                if status in (301, 302, 307):
                    self.send_header("Location", service.url)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/cancel"

    @property
    def successes(self) -> list[Received]:
        return [each for each in self.received if each.status < 300]

    def take(self, raw: bytes, headers: dict[str, str]) -> tuple[int, str]:
        """Do what a billing service does: check the signature, and cancel once for each key."""
        body = json.loads(raw)
        with self._lock:
            status, text = self.answer or (200, '{"cancelled": true}')
            if status < 300:
                self.cancelled.add(headers["idempotency-key"])
            self.received.append(
                Received(
                    body=body, headers=headers, status=status, is_signed=is_signed(raw, headers)
                )
            )
        return status, text


def is_signed(raw: bytes, headers: dict[str, str]) -> bool:
    """Verify as the documentation of Standard Webhooks has it."""
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{raw.decode()}"
    digest = hmac.new(SECRET.encode(), content.encode(), hashlib.sha256).digest()
    expected = base64.b64encode(digest).decode()
    return f"v1,{expected}" in headers["webhook-signature"].split(" ")
