"""
The thread that begins runs: due slots of singletons, and requests for any job.

One broken schedule delays no other: each job is looked at on its own, and runs on a thread
of a small pool.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from django.db import close_old_connections, connections

from jobs import notifier
from jobs.cadence import Cron, Every
from jobs.context import RunContext
from jobs.declarations import JobDeclaration
from jobs.failure import headline
from jobs.ledger import OpenRun
from jobs.loglimit import LineLimit
from jobs.models import JobState
from jobs.outage import backoff_seconds, is_outage
from jobs.requests import CHANNEL, close_untaken, is_any_waiting, take_requests
from jobs.schedule import anchor, due_jobs, fire
from jobs.schedulers import IntervalScheduler, Scheduler
from jobs.singletons import SingletonRun
from jobs.stopping import StopSignal
from jobs.workers.handlers import HandlerThreads
from jobs.workers.loop import JobLoop

logger = logging.getLogger(__name__)
LOOK_SECONDS = 5.0
TICK_SECONDS = 5.0
MOST_THREADS = 16
STATE_CHANNEL = "job_states"


class Conductor(threading.Thread):
    """Begins runs in this process, and keeps its loops' pauses current."""

    name_of_loop = "jobs.conductor"

    def __init__(
        self,
        declarations: Sequence[JobDeclaration],
        loops: Mapping[str, JobLoop],
        stop: StopSignal,
        *,
        crons: Scheduler,
        intervals: IntervalScheduler,
        on_tick: Callable[[str], None] = lambda _: None,
    ) -> None:
        super().__init__(name="engineroom-conductor", daemon=True)
        self._singletons = {job.id: job for job in declarations if job.singleton}
        self._loops = loops
        self._stop_signal = stop
        self._crons = crons
        self._intervals = intervals
        self._on_tick = on_tick
        self._wake = threading.Event()
        self.threads = HandlerThreads(
            "singleton", size=max(1, min(len(self._singletons), MOST_THREADS))
        )
        self._lock = threading.Lock()
        self._going_on: dict[int, SingletonRun] = {}
        self._unanchored = set(self._singletons)
        self._limits: dict[str, LineLimit] = {}
        self._failures = 0

    @property
    def channels(self) -> tuple[str, ...]:
        """The NOTIFY channels that wake it."""
        return (CHANNEL, STATE_CHANNEL)

    def wake(self) -> None:
        """Ask for a look at what is due."""
        self._wake.set()

    def run(self) -> None:
        self._schedule_wake_ups()
        while not self._stop_signal.is_set():
            self._wake.clear()
            self._look()
            self._wait(LOOK_SECONDS, until=self._wake)
        connections.close_all()

    def going_on(self) -> list[SingletonRun]:
        """Return the runs of singletons that are in work here."""
        with self._lock:
            return list(self._going_on.values())

    def report(self) -> None:
        """Bring the rows of what is going on up to date."""
        for singleton in self.going_on():
            singleton.report()

    def keep_pauses(self) -> None:
        """Tell each loop whether its job is paused."""
        paused = set(JobState.objects.filter(paused_at__isnull=False).values_list("pk", flat=True))
        for job_id, loop in self._loops.items():
            loop.set_paused(paused=job_id in paused)

    def look(self) -> None:
        """Begin everything that is due now and fits; raises what the database raises."""
        self.keep_pauses()
        for job_id in sorted(self._unanchored):
            self._guarded(job_id, lambda job_id=job_id: self._anchor(job_id))  # type: ignore[misc]
        for job_id in due_jobs(self._singletons):
            if self._free() > 0 and not self._stop_signal.is_set():
                self._guarded(job_id, lambda job_id=job_id: self._fire(job_id))  # type: ignore[misc]
        # Asked first: to take requests costs ten times as much, and there seldom are any.
        if is_any_waiting() and not self._stop_signal.is_set():
            self._take_requests()

    def _look(self) -> None:
        close_old_connections()
        try:
            self.look()
            self._failures = 0
        except Exception as error:  # noqa: BLE001 (the next look tries again)
            self._complain("conductor_failed", error)
            connections.close_all()
            self._wait(backoff_seconds(self._failures), until=self._stop_signal)
            self._failures += 1
        finally:
            close_old_connections()

    def _wait(self, seconds: float, *, until: threading.Event | StopSignal) -> None:
        """Wait, ticking, so that the process counts as alive during a long backoff."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._on_tick(self.name_of_loop)
            if until.wait(min(left, TICK_SECONDS)) or self._stop_signal.is_set():
                return

    def _anchor(self, job_id: str) -> None:
        anchor(self._singletons[job_id])
        self._unanchored.discard(job_id)

    def _fire(self, job_id: str) -> None:
        run = fire(self._singletons[job_id])
        if run is not None:
            self._begin(run)

    def _take_requests(self) -> None:
        close_untaken()
        if self._loops:
            for run in take_requests(self._loops, singletons=(), limit=len(self._loops)):
                self._loops[run.job_id].run_by_hand(run)
        free = self._free()
        if free > 0:
            singletons = self._singletons
            for run in take_requests(singletons, singletons=singletons, limit=free):
                self._begin(run)

    def _begin(self, run: OpenRun) -> None:
        context = RunContext(
            declaration=self._singletons[run.job_id], trigger=run.trigger, stop=self._stop_signal
        )
        run.cancel = context.cancelled.set
        singleton = SingletonRun(context, run)
        with self._lock:
            self._going_on[run.id] = singleton
        self.threads.submit(lambda: self._execute(singleton))

    def _execute(self, singleton: SingletonRun) -> None:
        try:
            singleton.execute()
        finally:
            with self._lock:
                self._going_on.pop(singleton.run.id, None)
            notifier.poke(CHANNEL)  # a request may have waited for its end
            self.wake()

    def _free(self) -> int:
        with self._lock:
            return self.threads.size - len(self._going_on)

    def _guarded(self, job_id: str, work: Callable[[], None]) -> None:
        """Do something about one job; its failure is its own."""
        try:
            work()
        except Exception as error:
            if is_outage(error):
                raise
            self._complain(f"schedule_broken job={job_id}", error, key=job_id)

    def _complain(self, event: str, error: Exception, *, key: str = "") -> None:
        if self._limits.setdefault(key, LineLimit()).allows():
            trace = None if is_outage(error) else error
            logger.error("%s error=%s", event, headline(error), exc_info=trace)

    def _schedule_wake_ups(self) -> None:
        for job in self._singletons.values():
            try:
                match job.cadence:
                    case Cron(expression=expression, zone=zone):
                        self._crons.schedule(expression, self.wake, zone=zone)
                    case Every(ms=ms):
                        self._intervals.every(ms, self.wake)
            except Exception as error:  # noqa: BLE001 (a broken cadence is its job's own)
                self._complain(f"schedule_broken job={job.id}", error, key=job.id)
