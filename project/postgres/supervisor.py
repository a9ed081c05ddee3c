"""Bringing the server back while a process uses it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from project.postgres import pidfile, server
from project.postgres.binaries import Candidate
from project.postgres.errors import EmbeddedPostgresError, LockTimeoutError
from project.postgres.lifecycle import ensure_running
from project.postgres.locks import exclusively
from project.postgres.logfile import keep_log_small
from project.postgres.places import Places
from project.postgres.record import load_record

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.25
# Whether the process of that number is still the server: files are read for it.
CLOSE_LOOK_SECONDS = 5.0
# After a failed restart, and how often that is said again.
RETRY_SECONDS = 2.0
REPEAT_SECONDS = 60.0
LOG_SECONDS = 60.0


class Supervisor:
    """A thread that looks after one server; each process that uses it has one.

    Whichever process sees first that the server is gone starts it, as its own child; the
    others find it running and go on with that one.
    """

    def __init__(
        self, places: Places, *, pid: int, candidates: Sequence[Candidate] | None = None
    ) -> None:
        """Take the number of the running server."""
        self._places = places
        self._pid = pid
        self._candidates = candidates
        self._stopping = threading.Event()
        self._complained_at = float("-inf")
        self._log_looked_at = time.monotonic()
        self._looked_closely_at = float("-inf")
        self._thread = threading.Thread(target=self._run, name="postgres", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more; returns when a restart that is under way has ended."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        pause = LOOK_SECONDS
        while not self._stopping.wait(pause):
            pause = LOOK_SECONDS if self._look() else RETRY_SECONDS

    def _look(self) -> bool:
        try:
            if self._is_gone():
                self._bring_back()
            self._keep_log_small()
        except LockTimeoutError:
            return True
        except (EmbeddedPostgresError, OSError) as error:
            self._complain(error)
            return False
        return True

    def _is_gone(self) -> bool:
        if server.has_ended(self._pid):
            return True
        if time.monotonic() - self._looked_closely_at < CLOSE_LOOK_SECONDS:
            return False
        self._looked_closely_at = time.monotonic()
        record = load_record(self._places)
        return record is not None and not pidfile.serves(self._pid, data=Path(record.data))

    def _bring_back(self) -> None:
        # A short wait: `stop` must not have to wait for other processes' starts.
        with exclusively(self._places.mutex, timeout_seconds=1.0):
            record = load_record(self._places)
            if self._stopping.is_set() or (record and not record.wanted):
                return
            former = self._pid
            self._pid = ensure_running(self._places, candidates=self._candidates)
        logger.warning("postgres_brought_back former_pid=%s pid=%s", former, self._pid)

    def _keep_log_small(self) -> None:
        if time.monotonic() - self._log_looked_at < LOG_SECONDS:
            return
        self._log_looked_at = time.monotonic()
        with exclusively(self._places.mutex, timeout_seconds=1.0):
            keep_log_small(self._places)

    def _complain(self, error: Exception) -> None:
        if time.monotonic() - self._complained_at < REPEAT_SECONDS:
            return
        self._complained_at = time.monotonic()
        logger.error("postgres_not_brought_back reason=%s", error)
