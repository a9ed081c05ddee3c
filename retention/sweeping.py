"""One pass over one target: small ordered batches, each a short transaction of its own."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from django.db import OperationalError, connections

from jobs.failure import headline
from jobs.outage import is_outage
from jobs.transactions import TimeLimits, run_shortly
from retention.batches import Batches, is_too_slow
from retention.budget import Budget
from retention.statements import DueRows

logger = logging.getLogger(__name__)
PROBE_MS = 1000


@dataclass(kw_only=True)
class Swept:
    """What came of one target."""

    deleted: int = 0
    batches: int = 0
    # A cap stopped it and a due row is left. Rows that somebody had locked do not count.
    truncated: bool = False
    error: str = ""

    def entry(self) -> dict[str, Any]:
        """Return it as the run's summary has it."""
        counts = {"deleted": self.deleted, "batches": self.batches, "truncated": self.truncated}
        return {**counts, "error": self.error} if self.error else counts


class TargetSweep:
    """Deletes due rows until none is left, or the budget is spent."""

    def __init__(self, due: DueRows, budget: Budget) -> None:
        self.due = due
        self.budget = budget
        self.swept = Swept()
        self._batches = Batches(due)
        self._limit = budget.batch  # halved after a time-out, for the rest of the pass
        self._last: Any = None  # where the last batch ended

    def run(self) -> Swept:
        """Sweep; an error is in the answer and not raised."""
        try:
            while self._may_go_on():
                if not self._sweep_batch():
                    break
            self._batches.close()
        except Exception as error:  # noqa: BLE001 (the other targets are swept all the same)
            self.swept.error = headline(error)
            logger.error(  # noqa: TRY400 (the database's words say it all)
                "sweep_failed target=%s error=%s", self.due.prunable.name, self.swept.error
            )
            if is_outage(error):
                connections[self.due.using].close()
        return self.swept

    def _may_go_on(self) -> bool:
        if self.swept.batches < self.budget.max_batches and not self.budget.is_spent:
            return True
        self.swept.truncated = self._is_due_left()
        return False

    def _sweep_batch(self) -> bool:
        """Delete one batch; return whether there may be more."""
        try:
            batch = self._batches.delete(limit=self._limit, last=self._last)
        except OperationalError as error:
            if self._limit == 1 or not is_too_slow(error):
                raise
            self._halve(error)
            return True
        self.swept.deleted += batch.deleted
        self.swept.batches += bool(batch.deleted)
        if not batch.may_be_more:
            return False
        self._last = batch.last
        if batch.deleted:
            self.budget.pause()
        return True

    def _halve(self, error: Exception) -> None:
        self._limit //= 2
        logger.warning(
            "batch_halved target=%s rows=%s error=%s",
            self.due.prunable.name,
            self._limit,
            headline(error),
        )
        self.budget.pause()

    def _is_due_left(self) -> bool:
        query = self.due.probe(last=self._last)
        if query is None:
            return False
        limits = TimeLimits(statement_ms=PROBE_MS, lock_ms=PROBE_MS)
        try:
            [found] = run_shortly(self.due.using, query, limits=limits)
        except OperationalError as error:
            if not is_too_slow(error):
                raise
            return True  # nobody knows: the next sweep looks
        return bool(found)
