"""The engine's own jobs."""

from __future__ import annotations

from typing import Any

from jobs.alerts.evaluate import evaluate
from jobs.cadence import Every
from jobs.context import RunContext
from jobs.declarations import job

# How late it is itself, ``check_jobs`` and ``/jobz`` say: they depend on no worker.
EVERY_MS = 60_000


@job("jobs.alerts", cadence=Every(ms=EVERY_MS), summary="Open and resolve alerts by their rules.")
def evaluate_alerts(_context: RunContext) -> dict[str, Any]:
    return evaluate().summary()
