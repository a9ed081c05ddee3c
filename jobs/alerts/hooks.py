"""
Evaluation at each run's end, so that the third failure is told at once.

A run of a singleton is always looked at. A queue worker may end many passes a second: its
passes are looked at when one fails or buries rows, and now and then while an alert about it
is open, each at most once in some seconds.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from jobs.alerts.evaluate import evaluate_job
from jobs.alerts.snapshot import ALERTS_JOB
from jobs.deadletters import dead_letter_queue
from jobs.declarations import JobDeclaration, registry
from jobs.failure import headline
from jobs.models import Alert
from jobs.models.run import RunStatus
from jobs.outage import is_outage

logger = logging.getLogger(__name__)
TROUBLE_SECONDS = 10.0
LOOK_SECONDS = 30.0


class Debounce:
    """Says yes at most once in so many seconds for each key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said: dict[tuple[str, str], float] = {}

    def allows(self, kind: str, job_id: str, *, seconds: float) -> bool:
        """Say whether so many seconds have passed since the last yes."""
        with self._lock:
            now = time.monotonic()
            if now - self._said.get((kind, job_id), float("-inf")) < seconds:
                return False
            self._said[kind, job_id] = now
            return True


debounce = Debounce()


def on_run_finished(*, job_id: str, status: str, output: object = None, **_options: Any) -> None:
    """Evaluate the rules about a job whose run has ended. Never raises into the run."""
    job = registry.find(job_id)
    if job is None or job_id == ALERTS_JOB:
        return
    try:
        if job.singleton:
            evaluate_job(job_id)
        elif is_worth_a_look(job, status=status, output=output):
            # The pass goes on at once: mail and webhook are left to the next full evaluation.
            evaluate_job(job_id, remote=False)
    except Exception as error:
        if is_outage(error):
            logger.warning("alerts_not_evaluated job=%s error=%s", job_id, headline(error))
        else:
            logger.exception("alerts_not_evaluated job=%s", job_id)


def is_worth_a_look(job: JobDeclaration, *, status: str, output: object) -> bool:
    """Say whether the pass of a queue worker may have opened or resolved an alert."""
    buried = isinstance(output, dict) and bool(output.get("dead"))
    if status != RunStatus.SUCCEEDED or buried:
        return debounce.allows("trouble", job.id, seconds=TROUBLE_SECONDS)
    if not debounce.allows("look", job.id, seconds=LOOK_SECONDS):
        return False
    queue = dead_letter_queue(job)
    subjects = [job.id, *([queue.queue] if queue else [])]
    return Alert.objects.filter(resolved_at__isnull=True, subject__in=subjects).exists()
