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
from jobs.models.run import Trigger
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

    def once(self) -> int:
        """Run one pass of each queue, and each singleton that is due or asked for."""
        return self._with_heartbeat(self._pass_each)

    def drain(self) -> int:
        """Run passes until nothing is due and nothing is processing."""
        return self._with_heartbeat(self._drain)

    def _drain(self) -> None:
        while not self.stop.is_set():
            self._pass_each()
            if not any(self._is_left(job) for job in self._declarations):
                return
            self.stop.wait(LOOK_SECONDS)

    def _is_left(self, job: JobDeclaration) -> bool:
        return job.policy is not None and not is_paused(job.id) and has_work(job.policy())

    def _pass_each(self) -> None:
        for job in self._declarations:
            if self.stop.is_set():
                return
            close_old_connections()
            if job.singleton:
                self._run_singleton(job)
            else:
                self._run_passes(job)

    def _run_passes(self, job: JobDeclaration) -> None:
        for run in take_requests([job.id], singletons=(), limit=1):
            self._pass(job, Trigger.MANUAL, run)
        if not is_paused(job.id) and not self.stop.is_set():
            self._pass(job, Trigger.SCHEDULE, None)

    def _pass(self, job: JobDeclaration, trigger: Trigger, by_hand: OpenRun | None) -> None:
        context = RunContext(declaration=job, trigger=trigger, stop=self.stop)
        if self._runners[job.id].run(context, by_hand=by_hand):
            counts = ", ".join(f"{count} {name}" for name, count in context.counts.items())
            self._say(f"{job.id}: {counts or 'failed'}")

    def _run_singleton(self, job: JobDeclaration) -> None:
        try:
            for run in self._due_runs(job):
                context = RunContext(declaration=job, trigger=run.trigger, stop=self.stop)
                run.cancel = context.cancelled.set
                SingletonRun(context, run).execute()
                self._say(f"{job.id}: {JobRun.objects.only('status').get(pk=run.id).status}")
        except Exception as error:
            if is_outage(error):
                raise
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

    def _with_heartbeat(self, work: Callable[[], None]) -> int:
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
        return 0

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.stop.is_set():
            # Not SystemExit, which a job may raise itself: that only fails its run.
            raise KeyboardInterrupt
        self.stop.set(grace_ms=conf.SHUTDOWN_GRACE_MS.get())


def is_paused(job_id: str) -> bool:
    """Say whether an operator has paused the job."""
    return JobState.objects.filter(pk=job_id, paused_at__isnull=False).exists()


def has_work(policy: ClaimPolicy) -> bool:
    """Say whether a row of the queue is due or in any worker's hands."""
    rows = policy.model._default_manager.using(policy.using)
    if rows.filter(status="processing").exists():
        return True
    return any(rows.filter(arm.rows).exists() for arm in policy.arms)
