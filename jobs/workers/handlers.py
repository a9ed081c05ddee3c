"""Threads that work on rows, kept from pass to pass so that their connections are warm."""

from __future__ import annotations

import contextvars
import logging
import queue
import threading
from collections.abc import Callable

from django.db import close_old_connections, connections

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
        self._idle = 0

    def submit(self, work: Callable[[], None]) -> None:
        """Run work on a thread, in the context of the caller. It must not raise."""
        with self._lock:
            self._tasks.put((contextvars.copy_context(), work))
            if self._idle < self._tasks.qsize() and self._threads < self.size:
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
                close_old_connections()
        finally:
            connections.close_all()

    def _next(self) -> Task | None:
        with self._lock:
            self._idle += 1
        try:
            task: Task | None = self._tasks.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            task = None
        with self._lock:
            self._idle -= 1
            if task is None and not self._tasks.empty():
                task = self._tasks.get()  # came between the time-out and the lock
            if task is None:
                self._threads -= 1
        return task
