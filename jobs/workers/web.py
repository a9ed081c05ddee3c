"""The site, served from the same process as the workers (``--web``)."""

from __future__ import annotations

import logging
import socket
import threading
import time

from django.conf import settings
from django.utils.module_loading import import_string

from jobs.errors import MissingPackageError, PortInUseError

START_SECONDS = 20.0
SITE_CONNECTIONS = 2
WEBSOCKET_BYTES = 1_000_000
# A client that reads nothing, and still answers the kernel's probes, is let go after it.
UNREAD_MS = 60_000


class WebServer:
    """Uvicorn on a daemon thread, with the project's own ASGI application."""

    def __init__(self, host: str, port: int) -> None:
        try:
            import uvicorn
        except ImportError:
            raise MissingPackageError("--web", "uvicorn", "engineroom[web]") from None
        self.host = host
        self._socket = _listening_socket(host, port)
        self.port: int = self._socket.getsockname()[1]
        application = import_string(settings.ASGI_APPLICATION)
        # What the application around the site says that it takes itself.
        more = getattr(application, "database_connections", 0)
        self.connections = SITE_CONNECTIONS + more
        self._server = uvicorn.Server(
            uvicorn.Config(
                application,
                log_config=None,
                access_log=False,
                ws="auto",
                ws_max_size=WEBSOCKET_BYTES,
                # Its buffers take more memory of an idle client than all else together.
                ws_per_message_deflate=False,
            )
        )
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
        self._thread = threading.Thread(target=self._run, name="engineroom-web", daemon=True)

    def start(self) -> None:
        """Serve; return once requests are taken."""
        self._thread.start()
        end = time.monotonic() + START_SECONDS
        while not self._server.started and self._thread.is_alive() and time.monotonic() < end:
            time.sleep(0.01)

    def stop(self) -> None:
        """Finish open requests, for two seconds at most, and close the socket."""
        self._server.should_exit = True
        self._thread.join(2.0)
        self._server.force_exit = True
        self._socket.close()

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])


def _listening_socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server = socket.socket(family, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_MS)
    try:
        server.bind((host, port))
    except OSError as error:
        server.close()
        raise PortInUseError("ENGINEROOM_WEB", host, port, str(error.strerror)) from None
    return server
