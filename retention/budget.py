"""How much a whole run may do: rows at a time, batches, seconds, and whether to go on."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Self

from jobs.context import RunContext
from retention import conf


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The caps of one run, which began at ``began`` of the monotonic clock."""

    context: RunContext
    batch: int
    max_batches: int  # per target
    max_seconds: int  # of the whole run
    pause_ms: int
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, context: RunContext) -> Self:
        """Return the caps that the settings give a run that begins now."""
        return cls(
            context=context,
            batch=conf.BATCH.get(),
            max_batches=conf.MAX_BATCHES.get(),
            max_seconds=conf.MAX_SECONDS.get(),
            pause_ms=conf.PAUSE_MS.get(),
        )

    @property
    def is_spent(self) -> bool:
        """Whether the run is to end: its time is over, or somebody asks it to stop."""
        is_late = time.monotonic() - self.began >= self.max_seconds
        return is_late or self.context.should_stop()

    def pause(self) -> None:
        """Let others work; a shutdown does not wait for the end of it."""
        self.context.checkpoint()
        self.context.stop.wait(self.pause_ms / 1000)
