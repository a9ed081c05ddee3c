"""The health pages of a worker that serves no site, on ``WORKER_HEALTH``."""

from __future__ import annotations

import json
import logging
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

from jobs import conf
from jobs.errors import PortInUseError
from jobs.health import answers
from jobs.health.answers import Answer

logger = logging.getLogger(__name__)

MOST_CONNECTIONS = 8
# From accepting a connection to its end: longer than /readyz may take.
CONNECTION_SECONDS = 10.0
PAGES: dict[str, Callable[[], Answer]] = {"/healthz": answers.live, "/readyz": answers.ready}


class HealthServer:
    """Serves ``/healthz`` and ``/readyz`` and nothing else, on daemon threads."""

    def __init__(
        self, host: str, port: int, *, connection_seconds: float = CONNECTION_SECONDS
    ) -> None:
        """Take the address; raises PortInUseError when that is not possible."""
        try:
            self._server = _Server(host, port, connection_seconds=connection_seconds)
        except OSError as error:
            problem = error.strerror or str(error)
            raise PortInUseError(conf.WORKER_HEALTH.name, host, port, problem) from None
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.5},
            name="engineroom-health",
            daemon=True,
        )

    @property
    def port(self) -> int:
        """Return the port, chosen by the system where 0 was asked for."""
        return int(self._server.socket.getsockname()[1])

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Take no more connections and close the address."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join(2.0)
        self._server.server_close()


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 32

    def __init__(self, host: str, port: int, *, connection_seconds: float) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._connection_seconds = connection_seconds
        self._open: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        super().__init__((host, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            is_full = len(self._open) >= MOST_CONNECTIONS
            if not is_full:
                self._open[request] = time.monotonic()
        if is_full:
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """End connections that take too long, such as one byte every few seconds."""
        oldest = time.monotonic() - self._connection_seconds
        with self._lock:
            for request, opened_at in self._open.items():
                if opened_at < oldest:
                    _cut(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        logger.debug(
            "health_connection_failed client=%s error=%s", client_address, sys.exc_info()[1]
        )


class _Handler(BaseHTTPRequestHandler):
    server_version = "engineroom"
    sys_version = ""
    timeout = CONNECTION_SECONDS

    def do_GET(self) -> None:
        self._respond(has_body=True)

    def do_HEAD(self) -> None:
        self._respond(has_body=False)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (its own signature)
        logger.debug("health_request " + format, *args)  # noqa: G003 (as above)

    def _respond(self, *, has_body: bool) -> None:
        page = PAGES.get(self.path.partition("?")[0])
        if page is None:
            self.send_error(404)
            return
        answer = page()
        content = json.dumps(answer.body).encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if has_body:
            self.wfile.write(content)


def _cut(request: socket.socket) -> None:
    try:
        request.shutdown(socket.SHUT_RDWR)
    except OSError:
        logger.debug("health_connection_gone")
