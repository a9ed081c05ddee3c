"""Django's database work beside the event loop: few threads, and a bound on what waits."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from django.db import close_old_connections, connections

from realtime.errors import BusyError

THREADS = 4
# At about 3 ms each that is some seconds of waiting; who comes later is told to come again.
MOST_WAITING = 2000
CLOSE_SECONDS = 2.0

P = ParamSpec("P")
T = TypeVar("T")


class DatabaseThreads:
    """Runs functions that use the ORM; each thread has a connection of its own."""

    def __init__(self, *, threads: int = THREADS, most_waiting: int = MOST_WAITING) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="engineroom-realtime")
        self._threads = threads
        self._most_waiting = most_waiting
        self._waiting = 0

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the function on a thread; raise what it raises, or BusyError at the bound."""
        if self._waiting >= self._most_waiting:
            raise BusyError(self._most_waiting)
        self._waiting += 1
        try:
            call = partial(_run, partial(function, *args, **kwargs))
            return await asyncio.get_running_loop().run_in_executor(self._pool, call)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """End the threads and their connections, within some seconds."""
        # Each waits for the others, so that no thread takes the task of two.
        together = threading.Barrier(self._threads)
        for _ in range(self._threads):
            self._pool.submit(_close, together)
        self._pool.shutdown()


def _close(together: threading.Barrier) -> None:
    connections.close_all()
    with contextlib.suppress(threading.BrokenBarrierError):
        together.wait(CLOSE_SECONDS)


def _run(call: Callable[[], T]) -> T:
    close_old_connections()
    try:
        return call()
    finally:
        close_old_connections()
