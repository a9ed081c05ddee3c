"""``--once`` and ``--drain``: passes one after the other, without timers."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from types import FrameType

from django.db import close_old_connections

from jobs import conf
from jobs.claims import ClaimPolicy
from jobs.context import RunContext
from jobs.declarations import JobDeclaration
from jobs.models.run import Trigger
from jobs.runner import PassRunner
from jobs.stopping import StopSignal
from jobs.workers.heartbeat import Heartbeat

LOOK_SECONDS = 0.2


class SinglePasses:
    """Runs passes in the calling thread, with a heartbeat beside it."""

    def __init__(
        self, declarations: Sequence[JobDeclaration], *, say: Callable[[str], object]
    ) -> None:
        self.stop = StopSignal()
        self._say = say
        self._declarations = declarations
        self._runners = {job.id: PassRunner(job) for job in declarations}
        self._heartbeat = Heartbeat(lambda: {"draining": True})

    def once(self) -> int:
        """Run one pass of each job."""
        return self._with_heartbeat(self._pass_each)

    def drain(self) -> int:
        """Run passes until nothing is due and nothing is processing."""
        return self._with_heartbeat(self._drain)

    def _drain(self) -> None:
        while not self.stop.is_set():
            self._pass_each()
            if not any(has_work(job.policy()) for job in self._declarations if job.policy):
                return
            self.stop.wait(LOOK_SECONDS)

    def _pass_each(self) -> None:
        for job in self._declarations:
            if self.stop.is_set():
                return
            close_old_connections()
            context = RunContext(declaration=job, trigger=Trigger.SCHEDULE, stop=self.stop)
            if self._runners[job.id].run(context):
                counts = ", ".join(f"{count} {name}" for name, count in context.counts.items())
                self._say(f"{job.id}: {counts or 'failed'}")

    def _with_heartbeat(self, work: Callable[[], None]) -> int:
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        self._heartbeat.start()
        try:
            work()
        finally:
            self._heartbeat.end()
        return 0

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.stop.is_set():
            raise SystemExit(1)
        self.stop.set(grace_ms=conf.SHUTDOWN_GRACE_MS.get())


def has_work(policy: ClaimPolicy) -> bool:
    """Say whether a row of the queue is due or in any worker's hands."""
    rows = policy.model._default_manager.using(policy.using)
    if rows.filter(status="processing").exists():
        return True
    return any(rows.filter(arm.rows).exists() for arm in policy.arms)
