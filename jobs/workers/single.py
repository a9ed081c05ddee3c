"""``--once`` and ``--drain``: passes one after the other, without timers."""

from __future__ import annotations

import contextlib
import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

from django.db import InterfaceError, OperationalError, close_old_connections

from jobs import conf
from jobs.capture import route_prints
from jobs.claims import ClaimPolicy
from jobs.context import RunContext
from jobs.declarations import JobDeclaration
from jobs.ledger import OpenRun
from jobs.models import JobRun, JobState
from jobs.models.run import RunStatus, Trigger
from jobs.outage import is_outage
from jobs.requests import take_requests
from jobs.runner import PassRunner
from jobs.schedule import anchor, fire
from jobs.singletons import SingletonRun
from jobs.stopping import StopSignal
from jobs.workers.heartbeat import Heartbeat
from jobs.workers.registry import sign_off_worker

logger = logging.getLogger(__name__)
LOOK_SECONDS = 0.2
LAST_BEAT_SECONDS = 2.0
# Rounds without a row taken, after which due rows are known to be held back by something
# else than another worker's claim.
FRUITLESS_ROUNDS = 5


class SinglePasses:
    """Runs passes in the calling thread, with a heartbeat beside it."""

    def __init__(
        self, declarations: Sequence[JobDeclaration], *, say: Callable[[str], object]
    ) -> None:
        self.stop = StopSignal()
        self._say = say
        self._declarations = declarations
        self._runners = {job.id: PassRunner(job) for job in declarations if not job.singleton}
        self._heartbeat = Heartbeat(lambda: {"draining": True})
        self._failed = False

    def once(self) -> int:
        """Run one pass of each queue, and each singleton that is due or asked for."""
        return self._with_heartbeat(self._pass_each)

    def drain(self) -> int:
        """
        Run passes until nothing is due and nothing is processing.

        Ends with 1 when rows are due that no pass takes, such as mail without a delivery.
        """
        return self._with_heartbeat(self._drain)

    def _drain(self) -> None:
        fruitless = 0
        while not self.stop.is_set():
            found = self._pass_each()
            left = [job for job in self._declarations if self._is_left(job)]
            if not left:
                return
            is_held_back = not found and not any(
                is_processing(job.policy()) for job in left if job.policy
            )
            fruitless = fruitless + 1 if is_held_back else 0
            if fruitless == FRUITLESS_ROUNDS:
                names = ", ".join(job.id for job in left)
                self._say(f"Rows are due that are not taken at the moment: {names}")
                self._failed = True
                return
            self.stop.wait(LOOK_SECONDS)

    def _is_left(self, job: JobDeclaration) -> bool:
        return job.policy is not None and not is_paused(job.id) and has_work(job.policy())

    def _pass_each(self) -> bool:
        """Run one pass of each; return whether a queue had rows."""
        found = False
        for job in self._declarations:
            if self.stop.is_set():
                break
            close_old_connections()
            if job.singleton:
                self._run_singleton(job)
            else:
                found |= self._run_passes(job)
        return found

    def _run_passes(self, job: JobDeclaration) -> bool:
        found = False
        for run in take_requests([job.id], singletons=(), limit=1):
            found |= self._pass(job, Trigger.MANUAL, run)
        if not is_paused(job.id) and not self.stop.is_set():
            found |= self._pass(job, Trigger.SCHEDULE, None)
        return found

    def _pass(self, job: JobDeclaration, trigger: Trigger, by_hand: OpenRun | None) -> bool:
        context = RunContext(declaration=job, trigger=trigger, stop=self.stop)
        runner = self._runners[job.id]
        found = runner.run(context, by_hand=by_hand)
        self._failed |= runner.failed
        if found:
            counts = ", ".join(f"{count} {name}" for name, count in context.counts.items())
            self._say(f"{job.id}: {counts or 'failed'}")
        return found

    def _run_singleton(self, job: JobDeclaration) -> None:
        try:
            for run in self._due_runs(job):
                context = RunContext(declaration=job, trigger=run.trigger, stop=self.stop)
                run.cancel = context.cancelled.set
                SingletonRun(context, run).execute()
                status = JobRun.objects.only("status").get(pk=run.id).status
                self._failed |= status != RunStatus.SUCCEEDED
                self._say(f"{job.id}: {status}")
        except Exception as error:
            if is_outage(error):
                raise
            self._failed = True
            logger.exception("schedule_broken job=%s", job.id)  # the others go on

    def _due_runs(self, job: JobDeclaration) -> Iterator[OpenRun]:
        """Yield the run of the due slot and those that were asked for, each when it may begin."""
        anchor(job)
        run = fire(job) or self._requested(job)
        while run is not None:
            yield run
            run = self._requested(job)

    def _requested(self, job: JobDeclaration) -> OpenRun | None:
        if self.stop.is_set():
            return None
        return next(iter(take_requests([job.id], singletons=[job.id], limit=1)), None)

    def _with_heartbeat(self, work: Callable[[], object]) -> int:
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        route_prints()
        self._heartbeat.start()
        try:
            work()
        except KeyboardInterrupt:
            return 1
        finally:
            self._heartbeat.end()
            self._heartbeat.join(LAST_BEAT_SECONDS)
            with contextlib.suppress(OperationalError, InterfaceError):
                sign_off_worker()
        return 1 if self._failed else 0

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.stop.is_set():
            # Not SystemExit, which a job may raise itself: that only fails its run.
            raise KeyboardInterrupt
        self.stop.set(grace_ms=conf.SHUTDOWN_GRACE_MS.get())


def is_paused(job_id: str) -> bool:
    """Say whether an operator has paused the job."""
    return JobState.objects.filter(pk=job_id, paused_at__isnull=False).exists()


def is_processing(policy: ClaimPolicy) -> bool:
    """Say whether a row of the queue is in any worker's hands."""
    rows = policy.model._default_manager.using(policy.using)
    return rows.filter(status="processing").exists()


def has_work(policy: ClaimPolicy) -> bool:
    """Say whether a row of the queue is due or in any worker's hands."""
    if is_processing(policy):
        return True
    rows = policy.model._default_manager.using(policy.using)
    return any(rows.filter(arm.rows).exists() for arm in policy.arms)
