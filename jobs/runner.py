"""
One pass of a queue worker: run it, then write what it did.

A pass that found nothing writes no ledger row. Short passes of one trigger are folded into
one row per minute and replica; a manual pass, a pass that raises, and one that lasts over
a second each have a row of their own.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections import Counter
from dataclasses import dataclass

from jobs import ledger
from jobs.activity import write_lines
from jobs.context import RunContext, running
from jobs.declarations import JobDeclaration
from jobs.failure import describe
from jobs.models.run import RunStatus, Trigger
from jobs.outage import is_outage
from jobs.signals import run_failed, run_finished, run_started

logger = logging.getLogger(__name__)
SHORT_SECONDS = 1.0
PROGRESS_SECONDS = 2.0


@dataclass(frozen=True, kw_only=True)
class Fold:
    """The row that short passes of this minute are folded into."""

    run_id: int
    token: uuid.UUID
    trigger: Trigger
    minute: int
    sums: Counter[str]


class PassRunner:
    """Runs the passes of one job in one process, one at a time."""

    def __init__(self, declaration: JobDeclaration) -> None:
        self.declaration = declaration
        self._ticks = ledger.TickRecorder(declaration.id)
        self._fold: Fold | None = None
        self._open: ledger.OpenRun | None = None
        self.failed = False  # whether the last pass raised
        self._reported_at = 0.0

    def run(self, context: RunContext, *, by_hand: ledger.OpenRun | None = None) -> bool:
        """
        Run one pass; return whether it found work.

        ``by_hand`` is the ledger row of the request that the pass answers, if it does.

        An exception of the pass is recorded as a failed run and not raised, except one of
        the database itself, which leaves nothing to record it in.
        """
        if by_hand is not None:
            by_hand.cancel = context.cancelled.set
            context.run_id = by_hand.id
            self._open = by_hand
            self._start(by_hand.id)
        context.on_report = lambda: self._report(context)
        with running(context):
            try:
                self.declaration.run_once(context)
            except (Exception, SystemExit) as error:
                if is_outage(error):
                    self._abandon()
                    raise
                self.failed = True
                self._fail(context, error)
                return True
        self.failed = False
        found = bool(+context.counts)
        self._tick(context, idle=not found)
        if self._open is not None:
            self._close(context)
        elif found:
            self._record_short(context)
        elif context.lines:
            write_lines(context.take_lines(), job_id=self.declaration.id)
        return found

    def _tick(self, context: RunContext, *, idle: bool) -> None:
        """Note a pass, unless an operator asked for it: that is no sign of the schedule."""
        if context.trigger is not Trigger.MANUAL:
            self._ticks.tick(idle=idle)

    def _abandon(self) -> None:
        """Leave an open row to its lease: there is no database to close it in."""
        if self._open is not None:
            ledger.open_runs.discard(self._open)
            self._open = None

    def _report(self, context: RunContext) -> None:
        """Give a pass that lasts a row of its own, and keep the row's counts current."""
        if self._open is None:
            if context.age_seconds < SHORT_SECONDS or not (context.counts or context.lines):
                return
            self._open = ledger.open_run(
                self.declaration.id, context.trigger, age_seconds=context.age_seconds
            )
            context.run_id = self._open.id
            self._start(self._open.id)
        elif time.monotonic() - self._reported_at < PROGRESS_SECONDS:
            return
        self._reported_at = time.monotonic()
        self._open.write(
            output=dict(context.counts),
            progress_done=context.progress_done,
            progress_total=context.progress_total,
        )
        self._tick(context, idle=False)
        write_lines(context.take_lines(), job_id=self.declaration.id, run_id=self._open.id)

    def _close(self, context: RunContext) -> None:
        run, self._open = self._open, None
        assert run is not None
        output = dict(context.counts)
        run.close(RunStatus.SUCCEEDED, output=output)
        self._finish(context, run.id, RunStatus.SUCCEEDED, output)

    def _record_short(self, context: RunContext) -> None:
        minute = int(time.monotonic() // 60)
        fold = self._fold if context.trigger is not Trigger.MANUAL else None
        if fold and fold.minute == minute and fold.trigger == context.trigger:
            sums = fold.sums + context.counts
            if ledger.fold_into(fold.run_id, fold.token, dict(sums)):
                fold.sums.update(context.counts)
                self._finish(context, fold.run_id, RunStatus.SUCCEEDED, dict(context.counts))
                return
        row = ledger.record_run(
            self.declaration.id,
            context.trigger,
            RunStatus.SUCCEEDED,
            age_seconds=context.age_seconds,
            output=dict(context.counts),
        )
        assert row.claim_token is not None
        self._fold = Fold(
            run_id=row.pk,
            token=row.claim_token,
            trigger=context.trigger,
            minute=minute,
            sums=Counter(context.counts),
        )
        self._finish(context, row.pk, RunStatus.SUCCEEDED, dict(context.counts))

    def _fail(self, context: RunContext, error: BaseException) -> None:
        logger.error("run_failed job=%s", self.declaration.id, exc_info=error)
        run, self._open = self._open, None
        fields = {"error": ledger.bounded(describe(error)), "output": dict(context.counts) or None}
        if run is not None:
            run.close(RunStatus.FAILED, **fields)
            run_id = run.id
        else:
            run_id = ledger.record_run(
                self.declaration.id,
                context.trigger,
                RunStatus.FAILED,
                age_seconds=context.age_seconds,
                **fields,
            ).pk
        run_failed.send_robust(
            sender=JobDeclaration,
            job_id=self.declaration.id,
            run_id=run_id,
            error=fields["error"],
            exception=error,
        )
        self._finish(context, run_id, RunStatus.FAILED, fields["output"])

    def _start(self, run_id: int) -> None:
        run_started.send_robust(sender=JobDeclaration, job_id=self.declaration.id, run_id=run_id)

    def _finish(self, context: RunContext, run_id: int, status: RunStatus, output: object) -> None:
        write_lines(context.take_lines(), job_id=self.declaration.id, run_id=run_id)
        run_finished.send_robust(
            sender=JobDeclaration,
            job_id=self.declaration.id,
            run_id=run_id,
            status=status,
            output=output,
        )
