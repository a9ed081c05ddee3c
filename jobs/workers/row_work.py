"""What is done with one row of a queue, and what may come of it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from jobs.claims import Claim
from jobs.context import RunContext
from jobs.errors import LostClaimError
from jobs.outage import is_outage
from jobs.queues import QueueRow

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """The row waits for something: no attempt spent, due again after so many seconds."""

    seconds: float


@dataclass(frozen=True, kw_only=True)
class GiveUp:
    """The row can never succeed: a dead letter at once."""

    reason: str


Outcome = Waiting | GiveUp | None


class RowWork(Protocol):
    """What a queue does with its rows."""

    def work(self, claim: Claim, row: QueueRow) -> None:
        """Begin the row, work on it and settle it; must not raise."""

    def interrupt(self, claim: Claim, row: QueueRow) -> None:
        """Take a row back that is still in flight when the grace ends."""


class RowHandler:
    """Wraps a function of one row: begins the row, settles it by what comes back."""

    def __init__(self, context: RunContext, handle: Callable[[Any], Outcome]) -> None:
        self.context = context
        self._handle = handle

    def work(self, claim: Claim, row: QueueRow) -> None:
        try:
            claim.begin(row)
            try:
                outcome = self._handle(row)
            except (Exception, SystemExit) as error:  # noqa: BLE001 (one bad row holds up no other)
                self._settle_failure(claim, row, error)
            else:
                self._settle(claim, row, outcome)
        except LostClaimError:
            self.context.tally(lost=1)
        except Exception as error:
            # The outcome could not be written: the row turns stale and is claimed again.
            claim.forget(row)
            if is_outage(error):
                logger.warning("outcome_not_written queue=%s id=%s", claim.policy.queue, row.pk)
            else:
                logger.exception("outcome_not_written queue=%s id=%s", claim.policy.queue, row.pk)

    def interrupt(self, claim: Claim, row: QueueRow) -> None:
        claim.interrupt(row)

    def _settle(self, claim: Claim, row: QueueRow, outcome: Outcome) -> None:
        match outcome:
            case Waiting(seconds=seconds):
                self._tally(claim.wait(row, delay_ms=int(seconds * 1000)), waiting=1)
            case GiveUp(reason=reason):
                self._tally(claim.bury(row, reason), dead=1)
            case _:
                self._tally(claim.complete(row), done=1)

    def _settle_failure(self, claim: Claim, row: QueueRow, error: BaseException) -> None:
        logger.warning(
            "row_failed queue=%s id=%s error=%s", claim.policy.queue, row.pk, type(error).__name__
        )
        self._tally(claim.retry(row, error), failed=1)

    def _tally(self, changed: int, **counts: int) -> None:
        self.context.tally(**(counts if changed else {"lost": 1}))
