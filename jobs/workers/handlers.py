"""Threads that work on rows, kept from pass to pass so that their connections are warm."""

from __future__ import annotations

import contextlib
import contextvars
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable

from django.db import close_old_connections, connections
from django.db.backends.base.base import BaseDatabaseWrapper

logger = logging.getLogger(__name__)
IDLE_SECONDS = 60.0
Task = tuple[contextvars.Context, Callable[[], None]]
_Inbox = queue.SimpleQueue[Task]


class HandlerThreads:
    """
    Up to ``size`` daemon threads; each ends, and closes its connections, when idle long.

    The one that was idle last gets the next task: its connections are warm, and those that
    are not needed become idle long.
    """

    def __init__(self, name: str, *, size: int) -> None:
        self.name = name
        self.size = size
        self._lock = threading.Lock()
        self._backlog: deque[Task] = deque()
        self._idle: list[_Inbox] = []  # those idle longest first
        self._threads = 0

    def submit(self, work: Callable[[], None]) -> None:
        """Run work on a thread, in the context of the caller. It must not raise."""
        task = (contextvars.copy_context(), work)
        with self._lock:
            if self._idle:
                self._idle.pop().put(task)
            elif self._threads < self.size:
                self._threads += 1
                threading.Thread(
                    target=self._run, args=(task,), name=self.name, daemon=True
                ).start()
            else:
                self._backlog.append(task)

    def _run(self, first: Task) -> None:
        inbox: _Inbox = queue.SimpleQueue()
        task: Task | None = first
        try:
            while task is not None:
                context, work = task
                close_old_connections()
                try:
                    context.run(work)
                except BaseException:  # a thread that dies silently would strand its rows
                    logger.exception("handler_failed thread=%s", self.name)
                close_old_connections()
                task = self._next(inbox)
        finally:
            connections.close_all()

    def _next(self, inbox: _Inbox) -> Task | None:
        with self._lock:
            if self._backlog:
                return self._backlog.popleft()
            self._idle.append(inbox)
        with contextlib.suppress(queue.Empty):
            return inbox.get(timeout=IDLE_SECONDS)
        with self._lock:
            if inbox in self._idle:
                self._idle.remove(inbox)
                self._threads -= 1
                return None
        return inbox.get()  # it came between the time-out and the lock


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
