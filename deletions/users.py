"""What a worker does with one claimed deletion."""

from __future__ import annotations

import logging
from typing import cast

from deletions.attempt import Attempt, Outcome
from deletions.models import BillingAudit, UserDeletion, UserDeletionStep
from deletions.proof import Proof, append_proof
from deletions.steps import add_missing_rows, load_steps
from jobs.claims import Claim
from jobs.clock import ClockTime
from jobs.context import RunContext
from jobs.errors import EngineroomError, LostClaimError
from jobs.outage import is_outage
from jobs.queues import QueueRow
from jobs.transactions import short_transaction

logger = logging.getLogger(__name__)


class DeletionWork:
    """Runs one attempt and settles the row by what came of it."""

    def __init__(self, context: RunContext) -> None:
        self.context = context

    def work(self, claim: Claim, row: QueueRow) -> None:
        """Begin the row, work on it and settle it; does not raise."""
        deletion = cast("UserDeletion", row)
        try:
            claim.begin(deletion)
            self._attempt(claim, deletion)
        except LostClaimError:
            self.context.tally(lost=1)
        except Exception as error:  # noqa: BLE001 (one bad row holds up no other)
            self._settle_unexpected(claim, deletion, error)

    def interrupt(self, claim: Claim, row: QueueRow) -> None:
        """Give the row back at the end of the grace; its steps are done or found again."""
        claim.interrupt(row)

    def _attempt(self, claim: Claim, deletion: UserDeletion) -> None:
        steps = load_steps()
        # Steps that the project has added since the request.
        add_missing_rows(deletion.pk, steps)
        self._settle(claim, deletion, Attempt(claim, deletion, self.context, steps).run())

    def _settle(self, claim: Claim, deletion: UserDeletion, outcome: Outcome) -> None:
        if outcome.failures:
            self._tally(claim.retry(deletion, outcome.error), failed=1)
        elif outcome.is_stopped:
            self._tally(claim.interrupt(deletion), interrupted=1)
        elif outcome.wait_seconds is not None:
            delay_ms = int(outcome.wait_seconds * 1000)
            self._tally(claim.wait(deletion, delay_ms=delay_ms), waiting=1)
        else:
            self._complete(claim, deletion)

    def _complete(self, claim: Claim, deletion: UserDeletion) -> None:
        """Leave the proof: outside first, so that no deletion is done and not on record."""
        append_proof(Proof.of(deletion))
        with short_transaction("default"):
            # Locks the row: what was lost to another worker is not emptied.
            claim.note(deletion, current_step=None)
            UserDeletionStep.objects.filter(deletion_id=deletion.pk).update(detail="")
            BillingAudit.objects.filter(deletion_id=deletion.pk).update(answer="")
            done = claim.complete(
                deletion, done_at=ClockTime(), snapshot={}, reason="", last_error=""
            )
        logger.info("deletion_done id=%s user=%s", deletion.pk, deletion.user_id)
        self._tally(done, done=1)

    def _settle_unexpected(self, claim: Claim, deletion: UserDeletion, error: Exception) -> None:
        if not claim.holds(deletion) or is_outage(error):
            # It turns stale and is claimed again.
            logger.warning("outcome_not_written queue=user_deletions id=%s", deletion.pk)
            claim.forget(deletion)
            return
        expected = isinstance(error, EngineroomError)
        if not expected:
            logger.error("deletion_failed id=%s", deletion.pk, exc_info=error)
        self._tally(claim.retry(deletion, str(error) if expected else error), failed=1)

    def _tally(self, changed: int, **counts: int) -> None:
        self.context.tally(**(counts if changed else {"lost": 1}))
