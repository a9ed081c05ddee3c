"""Waiting for a run to end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from jobs.models.run import RunStatus
from jobs.output.words import progress_words
from jobs.reads.bounded import bounded
from jobs.reads.runs import RunItem, run_item, run_rows
from jobs.reads.workers import count_alive
from jobs.verbs import UnknownRunError

FIRST_LOOK_SECONDS = 0.1
LONGEST_LOOK_SECONDS = 1.0
COMPLAIN_SECONDS = 30.0
BAR_WIDTH = 30
GOING_ON = frozenset({RunStatus.REQUESTED, RunStatus.RUNNING})
NO_WORKER = "No worker is alive, so nothing runs: start one with manage.py runworkers."


def wait_for_run(run_id: int, *, see: Callable[[RunItem], object]) -> RunItem:
    """
    Return a run once it has ended; ``see`` is called with each state of it meanwhile.

    Raises ``UnknownRunError`` when the ledger has it no more.
    """
    pause = FIRST_LOOK_SECONDS
    while True:
        run = look_at(run_id)
        if run.status not in GOING_ON:
            return run
        see(run)
        time.sleep(pause)
        pause = min(pause * 1.2, LONGEST_LOOK_SECONDS)


def look_at(run_id: int) -> RunItem:
    """Return a run as it is now; raise ``UnknownRunError``."""
    with bounded():
        row = run_rows().filter(pk=run_id).first()
    if row is None:
        raise UnknownRunError(run_id)
    return run_item(row)


@dataclass(kw_only=True)
class Progress:
    """Shows how a run gets on: a bar on a terminal, a line per step otherwise."""

    write: Callable[[str], object]
    is_terminal: bool
    _shown: str = ""
    _complained_at: float = float("-inf")

    def see(self, run: RunItem) -> None:
        """Show the run's state where it is new."""
        if run.status == RunStatus.REQUESTED:
            self._complain()
            return
        text = self._bar(run) if self.is_terminal else _words(run)
        if text == self._shown:
            return
        self._shown = text
        self.write(f"\r{text}\x1b[K" if self.is_terminal else f"{text}\n")

    def clear(self) -> None:
        """Take the bar away, so that what follows begins a line."""
        if self._shown and self.is_terminal:
            self.write("\r\x1b[K")

    def _complain(self) -> None:
        # Now and then: a worker may be stopped while somebody waits.
        if time.monotonic() - self._complained_at < COMPLAIN_SECONDS:
            return
        self._complained_at = time.monotonic()
        if not count_alive():
            self.clear()
            self.write(f"{NO_WORKER}\n")

    def _bar(self, run: RunItem) -> str:
        if run.progress_done is None or not run.progress_total:
            return _words(run)
        filled = min(BAR_WIDTH, BAR_WIDTH * run.progress_done // run.progress_total)
        return f"[{'#' * filled:<{BAR_WIDTH}}] {progress_words(run)}"


def _words(run: RunItem) -> str:
    progress = progress_words(run)
    return f"run {run.id} {run.status}" + (f" {progress}" if progress else "")
