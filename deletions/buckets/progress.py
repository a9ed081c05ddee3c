"""How far a deletion is, written to its row under the claim."""

from __future__ import annotations

import time
from typing import Any

from deletions.models import BucketDeletionJob, BucketPhase
from jobs.claims import Claim
from jobs.clock import ClockTime
from jobs.context import RunContext
from jobs.errors import LostClaimError
from jobs.outage import persist

LISTED_SECONDS = 0.5


class StoppedError(Exception):
    """A shutdown: the claim ends here, between two batches."""


class Progress:
    """Counts what is confirmed. The row in memory holds what was last written."""

    def __init__(self, claim: Claim, job: BucketDeletionJob, context: RunContext) -> None:
        self._claim, self._job, self._context = claim, job, context
        self._listed_at = time.monotonic()
        self._has_begun = False

    def check(self) -> None:
        """
        Raise ``StoppedError`` at a shutdown, ``LostClaimError`` when the claim has ended.

        A request to a store cannot be fenced. So a worker that stood still for longer than
        its lease looks at its own clock before each one.
        """
        if not self._claim.is_alive(self._job):
            raise LostClaimError(self._claim.policy.queue, self._job.pk)
        if self._context.should_stop():
            raise StoppedError

    def enter(self, phase: BucketPhase) -> None:
        """Note the phase that begins."""
        self._job.phase = phase
        self._write(phase=phase)

    def listed(self, count: int) -> None:
        """Note how many keys a count has seen so far, twice a second at most."""
        now = time.monotonic()
        if now - self._listed_at >= LISTED_SECONDS:
            self._listed_at = now
            self._write(listed_objects=count, progressed_at=ClockTime())

    def counted(self, count: int) -> None:
        """Note how many objects there are, those deleted included."""
        self._job.total_objects = max(self._job.total_objects or 0, count)
        self._write(total_objects=self._job.total_objects, listed_objects=count)

    def confirm(self, gone: int, found: int) -> None:
        """Note keys that are gone, and how many more a listing has found at the least."""
        job = self._job
        deleted = job.deleted_objects + gone
        total = max(job.total_objects or 0, deleted + found)
        if not gone and total == job.total_objects:
            return
        values: dict[str, Any] = {"deleted_objects": deleted, "total_objects": total}
        if gone:
            values |= self._moved()
        # In memory first: what was deleted is so, whether or not the write arrives.
        job.deleted_objects, job.total_objects = deleted, total
        self._write(**values)
        self._context.progress(deleted, total)

    def begin_emptying(self) -> None:
        """Note from when and where the rate of this claim is measured."""
        if self._has_begun:
            return
        self._has_begun = True
        self._write(
            emptying_since=ClockTime(),
            progressed_at=ClockTime(),
            deleted_before=self._job.deleted_objects,
        )

    def _moved(self) -> dict[str, Any]:
        """Return what progress sets: the attempts back, since they count claims without it."""
        self._job.attempts = 0
        return {"attempts": 0, "progressed_at": ClockTime()}

    def _write(self, **values: Any) -> None:
        # A crash of the database may forget it: then some keys were not counted, no more.
        persist(
            lambda: self._claim.note(self._job, is_durable=False, **values),
            using=self._claim.policy.using,
            seconds=self._claim.policy.expiry.ms / 1000,
        )
