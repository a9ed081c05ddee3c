"""One run of a singleton, in the thread that was given to it."""

from __future__ import annotations

import json
import logging
from typing import Any

from django.db import close_old_connections

from jobs import ledger
from jobs.activity import write_lines
from jobs.capture import Printed
from jobs.context import RunContext, running
from jobs.declarations import JobDeclaration
from jobs.errors import PartlyFailedError
from jobs.failure import describe
from jobs.ledger import OpenRun
from jobs.models.run import RunStatus
from jobs.outage import persist
from jobs.plain import plain_text
from jobs.redaction import mask_secrets
from jobs.signals import run_failed, run_finished, run_started

logger = logging.getLogger(__name__)
OUTPUT_LIMIT = 256 * 1024
INTERRUPTED = "A shutdown ended this run before it was done."


class SingletonRun:
    """A run that this process holds, from its begin to its row's end. Never raises."""

    def __init__(self, context: RunContext, run: OpenRun) -> None:
        self.context = context
        self.run = run
        context.run_id = run.id
        context.printed = Printed()
        context.on_report = self.report
        self._reported: dict[str, Any] = {
            "progress_done": None,
            "progress_total": None,
            "stdout": "",
        }

    @property
    def declaration(self) -> JobDeclaration:
        return self.context.declaration

    def execute(self) -> None:
        """Run the job and write what became of it."""
        close_old_connections()
        run_started.send_robust(sender=JobDeclaration, job_id=self.run.job_id, run_id=self.run.id)
        with running(self.context):
            try:
                output = self.declaration.run_once(self.context)
                fields = {"output": _storable_output(self._summary(output))}
                status = self._status_of_success()
            except (Exception, SystemExit) as error:
                logger.exception("run_failed job=%s", self.declaration.id)
                fields = {"error": ledger.bounded(describe(error))}
                if isinstance(error, PartlyFailedError):
                    fields["output"] = _storable_output(error.output)
                status = RunStatus.FAILED
                self._close(status, fields)
                run_failed.send_robust(
                    sender=JobDeclaration,
                    job_id=self.declaration.id,
                    run_id=self.run.id,
                    error=fields["error"],
                    exception=error,
                )
                return
        self._close(status, fields)

    def report(self) -> None:
        """Write what is new of progress, output and log; for the job and for the heartbeat."""
        news = {
            "progress_done": self.context.progress_done,
            "progress_total": self.context.progress_total,
            "stdout": self._printed(),
        }
        if news != self._reported:
            self.run.write(**news)
            self._reported = news
        self._write_lines()

    def interrupt(self) -> None:
        """Close the run when the grace has ended and it is still going on."""
        self._write_end(RunStatus.INTERRUPTED, {"error": INTERRUPTED})

    def tell_interrupted(self) -> None:
        """Send the signal of its end, which may take long: when all rows are written."""
        self._tell(RunStatus.INTERRUPTED, None)

    def _close(self, status: RunStatus, fields: dict[str, Any]) -> None:
        if self._write_end(status, fields):
            self._tell(status, fields.get("output"))

    def _write_end(self, status: RunStatus, fields: dict[str, Any]) -> bool:
        ended = {
            "stdout": self._printed(),
            "progress_done": self.context.progress_done,
            "progress_total": self.context.progress_total,
        } | fields
        try:
            persist(
                lambda: self.run.close(status, **ended),
                using="default",
                seconds=ledger.lease_seconds(),
            )
        except Exception:
            # Its lease runs out, and whoever notices closes it as lost.
            logger.exception("outcome_not_written job=%s run=%s", self.run.job_id, self.run.id)
            return False
        self._write_lines()
        return True

    def _tell(self, status: RunStatus, output: Any) -> None:
        run_finished.send_robust(
            sender=JobDeclaration,
            job_id=self.run.job_id,
            run_id=self.run.id,
            status=status,
            output=output,
        )

    def _status_of_success(self) -> RunStatus:
        return RunStatus.CANCELLED if self.context.cancelled.is_set() else RunStatus.SUCCEEDED

    def _summary(self, output: Any) -> Any:
        return output if output is not None else dict(self.context.counts) or None

    def _printed(self) -> str:
        printed = self.context.printed
        return mask_secrets(ledger.bounded(printed.text())) if printed else ""

    def _write_lines(self) -> None:
        lines = self.context.take_lines()
        write_lines(lines, job_id=self.run.job_id, run_id=self.run.id)


def _storable_output(output: Any) -> Any:
    """Return the summary as JSON can hold it, masked; too large a one by its size only."""
    if output is None:
        return None
    text = plain_text(output)
    if len(text) > OUTPUT_LIMIT:
        return {"cut": f"a summary of {len(text)} characters", "head": text[:2000]}
    return json.loads(text)
