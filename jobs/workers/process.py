"""
One process that runs every job: the loops, what wakes them, and their end.

Stopping, in this order: claims end within a second, rows not begun are released, work in
flight goes on until the grace ends and is then taken back, sockets and connections close.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from django.db import connections
from django.utils import timezone

from jobs import conf, notifier
from jobs.activity import ActivityHandler
from jobs.cadence import Every
from jobs.capture import route_prints
from jobs.claims.holdings import holdings
from jobs.declarations import JobDeclaration
from jobs.failure import headline
from jobs.health.state import health
from jobs.loglimit import LineLimit
from jobs.models.run import Trigger
from jobs.models.worker import ListenState
from jobs.outage import is_outage
from jobs.schedulers import CronScheduler, ThreadIntervalScheduler
from jobs.stopping import StopSignal
from jobs.workers import sdnotify
from jobs.workers.conductor import LOOK_SECONDS, Conductor
from jobs.workers.health import HealthServer
from jobs.workers.heartbeat import Heartbeat
from jobs.workers.listener import Listener
from jobs.workers.loop import JobLoop
from jobs.workers.registry import report_worker, sign_off_worker
from jobs.workers.web import WebServer

logger = logging.getLogger(__name__)
LAST_SECONDS = 2.5  # beyond the grace, for writing what was taken back
WRITE_SECONDS = 1.0
WATCH_SECONDS = 1.0


class WorkerProcess:
    """Everything that ``runworkers`` starts, in one process."""

    def __init__(
        self,
        declarations: Sequence[JobDeclaration],
        *,
        say: Callable[[str], object],
        check: Callable[[], None] = lambda: None,
        web: tuple[str, int] | None = None,
    ) -> None:
        self.stop = StopSignal()
        self._say = say
        self._check = check  # of the database, once it answers; what it raises stops the start
        self._declarations = declarations
        self._loops = {
            declaration.id: JobLoop(declaration, self.stop, on_tick=health.tick)
            for declaration in declarations
            if not declaration.singleton
        }
        self._intervals = ThreadIntervalScheduler()
        self._crons = CronScheduler()
        self._conductor = Conductor(
            declarations,
            self._loops,
            self.stop,
            crons=self._crons,
            intervals=self._intervals,
            on_tick=health.tick,
        )
        self._heartbeat = Heartbeat(self._describe, report=self._conductor.report)
        self._listener = Listener(
            sorted(self._channels()), on_wake=self._on_wake, on_state=health.set_listen
        )
        self._web = WebServer(*web) if web else None
        self._health_server = _health_server() if web is None else None
        self._forced = False

    def run(self) -> int:
        """Work until a signal; return the exit code."""
        self._take_signals()
        if not self._await_database():
            return 0
        self._check()
        self._start()
        self._announce()
        sdnotify.ready()
        while not self.stop.wait(WATCH_SECONDS):
            self._watch()
        return self._end()

    def _start(self) -> None:
        logging.getLogger().addHandler(ActivityHandler(level=logging.INFO))
        report_worker(self._describe())
        self._conductor.keep_pauses()  # before the loops begin: a pause outlives a deploy
        connections.close_all()
        self._heartbeat.start()
        for server in (self._web, self._health_server):
            if server is not None:
                server.start()
        for loop in self._loops.values():
            self._start_loop(loop)
        route_prints()
        health.register(self._conductor.name_of_loop, period_seconds=LOOK_SECONDS)
        self._conductor.start()
        notifier.subscribe(self._on_wake)
        self._listener.start()

    def _announce(self) -> None:
        """Print a line per job, and what this process takes of the database."""
        for declaration in self._declarations:
            self._say(f"  {declaration.id:<24} {cadence_text(declaration)}  {declaration.summary}")
        self._say(f"  {self.connections} database connections at most")
        if self._web is not None:
            self._say(f"Serving http://{self._web.host}:{self._web.port} (Ctrl-C stops)")

    @property
    def connections(self) -> int:
        """Return how many database connections this process opens at most."""
        policies = [
            loop.declaration.policy() for loop in self._loops.values() if loop.declaration.policy
        ]
        handlers = sum(each.handlers + each.further_connections for each in policies)
        heartbeat, listener, notifier_ = 1, 2, 1
        web = self._web.connections if self._web else 0
        singletons = 1 + self._conductor.threads.size
        return len(self._loops) + handlers + singletons + heartbeat + listener + notifier_ + web

    def _start_loop(self, loop: JobLoop) -> None:
        cadence = loop.declaration.cadence
        assert isinstance(cadence, Every), "queue workers poll at an interval"
        health.register(loop.declaration.id, period_seconds=cadence.ms / 1000)
        self._intervals.every(cadence.ms, lambda: loop.wake(Trigger.SCHEDULE))
        loop.start()
        loop.wake(Trigger.SCHEDULE)

    def _on_wake(self, channel: str | None) -> None:
        """Wake the jobs of a channel; all of them when it is not known what was missed."""
        if channel is None or channel in self._conductor.channels:
            self._conductor.wake()
        for loop in self._loops.values():
            if channel is None or channel in channels_of(loop.declaration):
                loop.wake(Trigger.SCHEDULE if channel is None else Trigger.NOTIFY)

    def _channels(self) -> set[str]:
        queues = {
            channel for loop in self._loops.values() for channel in channels_of(loop.declaration)
        }
        return queues | set(self._conductor.channels)

    def _watch(self) -> None:
        sdnotify.watchdog()
        threads = (*self._loops.values(), self._conductor, self._heartbeat)
        dead = [thread.name for thread in threads if not thread.is_alive()]
        if dead and not self.stop.is_set():
            logger.critical("loop_died loops=%s", ", ".join(dead))
            self._forced = True
            self.stop.set()

    def _end(self) -> int:
        health.set_draining()
        sdnotify.stopping()
        self._say("Stopping: no new claims; work in flight is waited for.")
        self._intervals.close()
        self._crons.close()
        self._conductor.wake()
        for loop in self._loops.values():
            loop.look_up()
        self._listener.stop()
        deadline = time.monotonic() + self.stop.remaining_seconds + LAST_SECONDS
        for thread in (self._conductor, *self._loops.values()):
            thread.join(max(0.0, deadline - time.monotonic()))
        self._end_singletons()
        stuck = [loop.name for loop in self._loops.values() if loop.is_alive()]
        signed_off = write_within(WRITE_SECONDS, sign_off_worker)
        self._heartbeat.end()
        notifier.flush(0.5)
        for server in (self._web, self._health_server):
            if server is not None:
                server.stop()
        connections.close_all()
        if stuck:
            logger.error("stopped_with_work_left loops=%s", ", ".join(stuck))
        return 0 if signed_off and not stuck and not self._forced else 1

    def _end_singletons(self) -> None:
        """Wait for runs that look whether to stop; close what is left as interrupted."""
        while self._conductor.going_on() and not self.stop.is_over:
            time.sleep(0.05)
        left = self._conductor.going_on()
        for singleton in left:
            logger.warning("interrupted job=%s run=%s", singleton.run.job_id, singleton.run.id)
        works = [singleton.interrupt for singleton in left]
        works += [loop.give_back_requests for loop in self._loops.values()]
        works += [singleton.tell_interrupted for singleton in left]
        write_within(WRITE_SECONDS, *works)

    def _take_signals(self) -> None:
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.stop.is_set():
            raise SystemExit(1)  # a second signal ends the process at once
        self.stop.set(grace_ms=conf.SHUTDOWN_GRACE_MS.get())

    def _await_database(self) -> bool:
        """Wait until the database answers; False when told to stop meanwhile."""
        complaints = LineLimit()
        while not self.stop.is_set():
            try:
                connections["default"].ensure_connection()
            except Exception as error:
                if not is_outage(error):
                    raise
                if complaints.allows():
                    self._say(f"Waiting for the database: {headline(error)}")
                self.stop.wait(1.0)
            else:
                return True
        return False

    def _describe(self) -> dict[str, Any]:
        """Return what the row in ``workers`` says of this process."""
        now = timezone.now().isoformat()
        return {
            "listen": health.listen or ListenState.STARTING,
            "draining": self.stop.is_set(),
            "claims_held": holdings.count(),
            "loops": {
                job_id: {"state": loop.state, "seen_at": now}
                for job_id, loop in self._loops.items()
            }
            | {
                singleton.run.job_id: {"state": "working", "seen_at": now}
                for singleton in self._conductor.going_on()
            },
        }


def write_within(seconds: float, *works: Callable[[], object]) -> bool:
    """
    Write what a process leaves behind, within a bound, whatever the database does.

    Return whether all was written.
    """
    done = threading.Event()

    def write() -> None:
        try:
            for work in works:
                work()
            done.set()
        except Exception as error:  # noqa: BLE001 (the process ends either way)
            logger.warning("last_write_not_possible error=%s", headline(error))
        finally:
            connections.close_all()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    writer.join(seconds)
    return done.is_set()


def channels_of(declaration: JobDeclaration) -> tuple[str, ...]:
    """Return the NOTIFY channels that wake a job: its queue's, and those it names."""
    own = (declaration.policy().queue,) if declaration.policy else ()
    return (*own, *declaration.channels)


def cadence_text(declaration: JobDeclaration) -> str:
    """Return in words when a job runs, or why that cannot be told."""
    try:
        text = declaration.cadence.explain()
    except Exception as error:  # noqa: BLE001 (a broken schedule stops no other job)
        return f"broken schedule: {headline(error)}"
    return f"{text} and at commit" if declaration.policy else text


def _health_server() -> HealthServer | None:
    address = conf.WORKER_HEALTH.get()
    if not address:
        return None
    return HealthServer(*conf.split_address(conf.WORKER_HEALTH.name, address))
