"""The loop of one job in one process: sleeps until it is woken, runs a pass, sleeps again."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from django.db import close_old_connections, connections

from jobs.context import RunContext
from jobs.declarations import JobDeclaration
from jobs.failure import headline
from jobs.ledger import OpenRun
from jobs.loglimit import LineLimit
from jobs.models.run import Trigger
from jobs.outage import backoff_seconds, is_outage
from jobs.runner import PassRunner
from jobs.stopping import StopSignal
from jobs.workers.handlers import close_broken_connections

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)
LOOK_SECONDS = 5.0
TICK_SECONDS = 15.0


class JobLoop(threading.Thread):
    """A daemon thread that runs the passes of a queue worker, one at a time."""

    def __init__(
        self,
        declaration: JobDeclaration,
        stop: StopSignal,
        *,
        on_tick: Callable[[str], None] = lambda _: None,
    ) -> None:
        super().__init__(name=f"loop-{declaration.id}", daemon=True)
        self.declaration = declaration
        self.state = "starting"
        self._stop_signal = stop
        self._on_tick = on_tick
        self._runner = PassRunner(declaration)
        self._wake = threading.Condition()
        self._pending: Trigger | None = None
        # Shared with the pass, so that a wake-up during it is seen by it.
        self._woken = threading.Event()
        self._by_hand: list[OpenRun] = []
        self._paused = False
        self._context: RunContext | None = None
        self._failures = 0
        self._looked_at = float("-inf")
        self._complaints = LineLimit()

    def wake(self, trigger: Trigger) -> None:
        """Ask for a pass; wake-ups before it begins are one."""
        with self._wake:
            # A notify is the more telling of the two: the poll would have come anyhow.
            if self._pending is not Trigger.NOTIFY:
                self._pending = trigger
            self._woken.set()
            self._wake.notify()

    def run_by_hand(self, run: OpenRun) -> None:
        """Run a pass for a request that this process has claimed."""
        with self._wake:
            self._by_hand.append(run)
            self._wake.notify()

    def set_paused(self, *, paused: bool) -> None:
        """Begin no pass of its own while paused; a pass that goes on ends after its rows."""
        with self._wake:
            was, self._paused = self._paused, paused
            context = self._context
            if paused and context is not None and context.trigger is not Trigger.MANUAL:
                context.cancelled.set()
            if was and not paused:
                self._pending = self._pending or Trigger.SCHEDULE
                self._wake.notify()

    def give_back_requests(self) -> None:
        """Make requests wait again that were taken here and have not begun."""
        with self._wake:
            waiting, self._by_hand = self._by_hand, []
        for run in waiting:
            run.give_back()

    def look_up(self) -> None:
        """Make it see now that the process stops. Not for signal handlers: it takes a lock."""
        with self._wake:
            self._wake.notify()

    def tick(self) -> None:
        """Say that the loop lives; called by the interval scheduler while it waits."""
        self._on_tick(self.declaration.id)

    def run(self) -> None:
        while not self._stop_signal.is_set():
            trigger, by_hand = self._next()
            if trigger is not None:
                self._pass(trigger, by_hand)
        self.state = "stopped"
        connections.close_all()

    def _next(self) -> tuple[Trigger | None, OpenRun | None]:
        """Return why a pass is to run now, and the request that it answers if there is one."""
        with self._wake:
            is_idle = not self._by_hand and (self._pending is None or self._paused)
            if is_idle and not self._stop_signal.is_set():
                self.state = "paused" if self._paused else "waiting"
                self._wake.wait(TICK_SECONDS)
            trigger: Trigger | None = None
            by_hand = self._by_hand.pop(0) if self._by_hand else None
            if by_hand is not None:
                trigger = Trigger.MANUAL
            elif not self._paused:
                trigger, self._pending = self._pending, None
                self._woken.clear()
        self.tick()
        return trigger, by_hand

    def _pass(self, trigger: Trigger, by_hand: OpenRun | None) -> None:
        self.state = "working"
        self._look_at_connections()
        context = RunContext(
            declaration=self.declaration,
            trigger=trigger,
            stop=self._stop_signal,
            woken=self._woken,
            on_checkpoint=self.tick,
        )
        self._context = context
        try:
            self._runner.run(context, by_hand=by_hand)
        except Exception as error:  # noqa: BLE001 (a loop never ends by an exception)
            self._recover(error)
        else:
            self._failures = 0
            self._take_back_wake_up()
        finally:
            self._context = None
            close_broken_connections()

    def _look_at_connections(self) -> None:
        """Replace a dead connection. Asked for each pass, the server would delay each pick-up."""
        if time.monotonic() - self._looked_at < LOOK_SECONDS:
            close_broken_connections()
        else:
            close_old_connections()
            self._looked_at = time.monotonic()

    def _take_back_wake_up(self) -> None:
        """Forget a wake-up that the pass itself has answered."""
        with self._wake:
            if not self._woken.is_set():
                self._pending = None

    def _recover(self, error: Exception) -> None:
        if self._complaints.allows():
            logger.error(
                "pass_not_possible job=%s failures=%s error=%s",
                self.declaration.id,
                self._failures + 1,
                headline(error),
                exc_info=None if is_outage(error) else error,
            )
        connections.close_all()
        self.state = "waiting for the database"
        self._sleep(backoff_seconds(self._failures))
        self._failures += 1
        self.wake(Trigger.SCHEDULE)

    def _sleep(self, seconds: float) -> None:
        """Wait out a backoff, ticking, so that the process counts as alive."""
        remaining = seconds
        while remaining > 0 and not self._stop_signal.wait(min(remaining, 1.0)):
            remaining -= 1.0
            self.tick()
