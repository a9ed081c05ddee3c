"""Threads that work on rows, kept from pass to pass so that their connections are warm."""

from __future__ import annotations

import contextlib
import contextvars
import logging
import queue
import threading
import time
from collections.abc import Callable

from django.db import close_old_connections, connections
from django.db.backends.base.base import BaseDatabaseWrapper

logger = logging.getLogger(__name__)
IDLE_SECONDS = 60.0
Task = tuple[contextvars.Context, Callable[[], None]]


class HandlerThreads:
    """Up to ``size`` daemon threads; each ends, and closes its connections, when idle long."""

    def __init__(self, name: str, *, size: int) -> None:
        self.name = name
        self.size = size
        self._tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._unfinished = 0

    def submit(self, work: Callable[[], None]) -> None:
        """Run work on a thread, in the context of the caller. It must not raise."""
        with self._lock:
            self._tasks.put((contextvars.copy_context(), work))
            self._unfinished += 1
            # By tasks, not by idle threads: one that has just taken a task still looks idle,
            # and what counts on it would wait behind that task.
            if self._threads < min(self._unfinished, self.size):
                self._threads += 1
                threading.Thread(target=self._run, name=self.name, daemon=True).start()

    def _run(self) -> None:
        try:
            while True:
                task = self._next()
                if task is None:
                    return
                context, work = task
                close_old_connections()
                try:
                    context.run(work)
                except BaseException:  # a thread that dies silently would strand its rows
                    logger.exception("handler_failed thread=%s", self.name)
                with self._lock:
                    self._unfinished -= 1
                close_old_connections()
        finally:
            connections.close_all()

    def _next(self) -> Task | None:
        with contextlib.suppress(queue.Empty):
            return self._tasks.get(timeout=IDLE_SECONDS)
        with self._lock:
            with contextlib.suppress(queue.Empty):
                return self._tasks.get_nowait()  # came between the time-out and the lock
            self._threads -= 1
        return None


def close_broken_connections() -> None:
    """
    Close what a row has left unusable to the next one on its thread.

    ``close_old_connections`` would have the server asked about all of them, for each row.
    """
    for connection in connections.all(initialized_only=True):
        if connection.errors_occurred or _is_old(connection) or _is_left_open(connection):
            connection.close_if_unusable_or_obsolete()


def _is_old(connection: BaseDatabaseWrapper) -> bool:
    return connection.close_at is not None and time.monotonic() >= connection.close_at


def _is_left_open(connection: BaseDatabaseWrapper) -> bool:
    return connection.connection is not None and (
        connection.autocommit != connection.settings_dict["AUTOCOMMIT"]
    )
