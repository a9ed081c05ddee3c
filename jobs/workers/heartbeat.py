"""Says that this process lives: its claims, its runs, its row in ``workers``."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from django.db import close_old_connections, connections

from jobs import conf, ledger
from jobs.claims.holdings import holdings
from jobs.failure import headline
from jobs.loglimit import LineLimit
from jobs.outage import is_outage
from jobs.stopping import StopSignal
from jobs.workers.registry import remove_dead_workers, report_worker

logger = logging.getLogger(__name__)
ROW_SECONDS = 5.0
CLEANING_SECONDS = 3600.0
LONGEST_SECONDS = 5.0
LOOK_SECONDS = 0.5


class Heartbeat(threading.Thread):
    """A daemon thread that refreshes what the process holds, every third of the window."""

    def __init__(
        self,
        describe: Callable[[], dict[str, Any]],
        *,
        report: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(name="engineroom-heartbeat", daemon=True)
        self._report = report
        self._describe = describe
        self._ended = StopSignal()
        self._row_at = float("-inf")
        self._cleaned_at = float("-inf")
        self._complaints = LineLimit()

    def run(self) -> None:
        beaten_at = time.monotonic()
        # Looks more often than it beats: a row claimed meanwhile may have a shorter lease.
        while not self._ended.wait(min(self._interval_seconds(), LOOK_SECONDS)):
            if time.monotonic() - beaten_at >= self._interval_seconds():
                beaten_at = time.monotonic()
                self.beat()
        connections.close_all()

    def end(self) -> None:
        """Beat no more; what is held is left to its window."""
        self._ended.set()

    def beat(self) -> None:
        """Refresh everything once. A database that is away is complained of, not raised."""
        close_old_connections()
        for part in (*(claim.heartbeat for claim in holdings), *self._parts()):
            try:
                part()
            except Exception as error:  # noqa: BLE001 (one claim's trouble is not another's)
                self._complain(error)
                if is_outage(error):  # the next beat tries again
                    break
        close_old_connections()

    def _parts(self) -> tuple[Callable[[], object], ...]:
        return (ledger.open_runs.heartbeat, self._report, self._say_alive, self._clean)

    def _say_alive(self) -> None:
        if time.monotonic() - self._row_at >= ROW_SECONDS:
            report_worker(self._describe())
            ledger.close_lost()
            self._row_at = time.monotonic()

    def _clean(self) -> None:
        if time.monotonic() - self._cleaned_at >= CLEANING_SECONDS:
            remove_dead_workers()
            self._cleaned_at = time.monotonic()

    def _complain(self, error: Exception) -> None:
        if self._complaints.allows():
            logger.warning("heartbeat_not_possible error=%s", headline(error))
        connections.close_all()

    def _interval_seconds(self) -> float:
        wanted = [claim.policy.expiry.heartbeat_seconds for claim in holdings]
        wanted += [conf.CLAIM_STALE_MS.get() / 3000, conf.JOB_LEASE_MS.get() / 3000]
        return min(*wanted, LONGEST_SECONDS)
