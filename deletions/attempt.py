"""
One attempt: every step that is still to do, by halves.

Access first; external steps independent of each other, so that one which fails holds up no
other; local ones one after the other, once nothing that blocks them is left. Each answer of a
step is committed before the next one begins, fenced by the claim.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db.models.functions import Coalesce

from deletions.errors import StepAnswerError, StepError, WaitedTooLongError
from deletions.models import Half, StepState, UserDeletion, UserDeletionStep
from deletions.steps import MissingStep, Skipped, Step, StepCall, is_blocking
from jobs.claims import Claim
from jobs.clock import ClockTime, ago
from jobs.context import RunContext
from jobs.errors import LostClaimError
from jobs.failure import describe, headline, storable
from jobs.outage import persist
from jobs.redaction import mask_secrets
from jobs.transactions import short_transaction
from jobs.workers.queue_pass import Waiting

logger = logging.getLogger(__name__)
WAIT_DAYS = 7
WAIT_LIMIT_MS = WAIT_DAYS * 86_400_000
DETAIL_LIMIT = 10_000
PROGRESS_SECONDS = 0.5


@dataclass(kw_only=True)
class Outcome:
    """What came of an attempt."""

    failures: dict[str, str] = field(default_factory=dict)  # step: why, on one line
    wait_seconds: float | None = None  # a step waits, and none failed
    is_stopped: bool = False

    def wait(self, seconds: float) -> None:
        """Note that a step waits; the shortest wait counts."""
        known = self.wait_seconds
        self.wait_seconds = seconds if known is None else min(known, seconds)

    @property
    def error(self) -> str:
        """The failures as the row keeps them."""
        return "\n".join(f"{name}: {why}" for name, why in self.failures.items())


@dataclass(kw_only=True)
class Entry:
    """A step and its row."""

    step: Step
    row: UserDeletionStep

    @property
    def holds_up(self) -> bool:
        """Say whether the local half must wait for it."""
        return is_blocking(self.step) and not self.row.is_settled


class Attempt:
    """One attempt at one deletion, under a claim."""

    def __init__(
        self, claim: Claim, deletion: UserDeletion, context: RunContext, steps: tuple[Step, ...]
    ) -> None:
        self._claim = claim
        self._deletion = deletion
        self._context = context
        self._outcome = Outcome()
        self._entries = _entries(deletion, steps)

    def run(self) -> Outcome:
        """Run what is to be run now. Raises ``LostClaimError``."""
        before_local = [entry for entry in self._entries if entry.row.half != Half.LOCAL]
        local = [entry for entry in self._entries if entry.row.half == Half.LOCAL]
        for entry in before_local:
            self._run(entry)
        if not any(entry.holds_up for entry in before_local):
            for entry in local:
                self._run(entry)
                if not entry.row.is_settled:
                    break
        return self._outcome

    def _run(self, entry: Entry) -> None:
        if entry.row.is_settled or self._outcome.is_stopped:
            return
        if self._context.should_stop():
            self._outcome.is_stopped = True
            return
        self._begin(entry)
        call = self._call(entry)
        try:
            answer: Any = entry.step.run(call)
        except LostClaimError:
            raise
        except Exception as error:  # noqa: BLE001 (one step holds up no other)
            self._fail(entry, error)
            return
        match answer:
            case None:
                self._settle(entry, StepState.DONE, call.detail)
            case Skipped(reason=reason):
                self._settle(entry, StepState.SKIPPED, reason)
            case Waiting() if self._context.should_stop():
                self._write(entry, detail=_text(call.detail))
                self._outcome.is_stopped = True
            case Waiting(seconds=seconds):
                self._wait(entry, call.detail, seconds)
            case _:
                self._fail(entry, StepAnswerError(entry.step.name, answer))

    def _begin(self, entry: Entry) -> None:
        entry.row.tries += 1
        self._write(entry, current=entry.step.name, tries=entry.row.tries, begun_at=ClockTime())

    def _settle(self, entry: Entry, state: StepState, detail: str) -> None:
        entry.row.state = state
        self._write(
            entry, state=state, detail=_text(detail), waiting_since=None, done_at=ClockTime()
        )

    def _wait(self, entry: Entry, detail: str, seconds: float) -> None:
        since = Coalesce("waiting_since", ClockTime())
        self._write(entry, state=StepState.TODO, detail=_text(detail), waiting_since=since)
        mine = UserDeletionStep.objects.filter(pk=entry.row.pk)
        if mine.filter(waiting_since__lt=ago(WAIT_LIMIT_MS)).exists():
            self._fail(entry, WaitedTooLongError(WAIT_DAYS, detail))
        else:
            self._outcome.wait(seconds)

    def _fail(self, entry: Entry, error: Exception) -> None:
        # The traceback only of what nobody expected.
        expected = isinstance(error, StepError)
        detail = _text(str(error)) if expected else describe(error)
        self._outcome.failures[entry.step.name] = detail if expected else headline(error)
        self._write(entry, state=StepState.FAILED, detail=detail)
        logger.warning(
            "deletion_step_failed id=%s step=%s error=%s",
            self._deletion.pk,
            entry.step.name,
            headline(error),
        )

    def _write(self, entry: Entry, *, current: str | None = None, **columns: Any) -> None:
        """Write a step's row in one transaction with the fence: the claim's own row."""
        ended = columns if current else columns | {"begun_at": None}

        def write() -> None:
            with short_transaction("default"):
                self._claim.note(self._deletion, current_step=current)
                UserDeletionStep.objects.filter(pk=entry.row.pk).update(**ended)

        persist(write, using="default", seconds=self._claim.policy.expiry.ms / 1000)

    def _call(self, entry: Entry) -> StepCall:
        return StepCall(
            deletion_id=self._deletion.pk,
            user_id=self._deletion.user_id,
            snapshot=self._deletion.snapshot,
            idempotency_key=entry.row.idempotency_key,
            tries=entry.row.tries,
            should_stop=self._context.should_stop,
            progress=Progress(self._claim, self._deletion, self._context),
            rows_deleted=self._deletion.rows_deleted,
        )


class Progress:
    """Writes how far a step is, twice a second at most and at its end."""

    def __init__(self, claim: Claim, deletion: UserDeletion, context: RunContext) -> None:
        self._claim, self._deletion, self._context = claim, deletion, context
        self._written_at: float | None = None

    def __call__(self, done: int, total: int | None) -> None:
        """Note rows done and their total. Raises ``LostClaimError``."""
        self._context.progress(done, total)
        now = time.monotonic()
        recent = self._written_at is not None and now - self._written_at < PROGRESS_SECONDS
        if recent and done != total:
            return
        self._written_at = now
        self._deletion.rows_deleted = done
        self._claim.note(self._deletion, rows_deleted=done, rows_total=total)


def _entries(deletion: UserDeletion, steps: tuple[Step, ...]) -> list[Entry]:
    """Return the steps with their rows by half; rows without a step last within theirs."""
    by_name = {step.name: step for step in steps}
    halves = list(Half.values)
    places = {step.name: place for place, step in enumerate(steps)}
    rows = sorted(
        UserDeletionStep.objects.filter(deletion_id=deletion.pk),
        key=lambda row: (halves.index(row.half), places.get(row.name, len(steps))),
    )
    missing: Callable[[UserDeletionStep], Step] = MissingStep
    return [Entry(step=by_name.get(row.name) or missing(row), row=row) for row in rows]


def _text(detail: str) -> str:
    return storable(mask_secrets(detail))[:DETAIL_LIMIT]
