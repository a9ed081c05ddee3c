"""
Deleting one batch, in the cheapest of three ways that does.

As a range of ages where that can be; else row by row under SKIP LOCKED, by place where many are
of one age. All spare a row that was renewed meanwhile, and none deletes more than its limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import OperationalError
from psycopg import errors as postgres

from jobs import conf as engine
from jobs.transactions import TimeLimits, change_shortly, run_shortly
from retention.crowd import Crowd
from retention.statements import DueRows, Range

# Long enough for a write that is being committed; a range whose row is held longer has to wait
# with what it has deleted so far, and so does whoever wants that.
RANGE_LOCK_MS = 20
# Of a table: long enough for a busy one, too short to hold up those who queue behind.
LOCK_MS = 2000
# Statements by place in one batch: each makes up for what the one before did not get. No more,
# since somebody may hold the whole crowd, and a shutdown waits for the end of a batch.
ROUNDS = 10


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What came of a batch."""

    deleted: int
    may_be_more: bool
    last: Any  # where the next one begins


class Batches:
    """The batches of one pass over one target."""

    def __init__(self, due: DueRows) -> None:
        self._due = due
        self._crowd: Crowd | None = None  # of an age of more rows than a batch may take

    def delete(self, *, limit: int, last: Any) -> Batch:
        """
        Delete the next batch after the one that ended at ``last``, in a transaction of its own.

        Raises OperationalError when it takes too long, or the table is locked.
        """
        if self._crowd is not None and self._crowd.age == last:
            return self._delete_crowd(self._crowd, limit=limit)
        batch = self._delete_range(limit=limit, last=last)
        if batch is None:
            batch = self._delete_unlocked(limit=limit, last=last)
        if batch.last == last and batch.deleted == limit:
            self._crowd = Crowd(self._due, age=last)
        return batch

    def close(self) -> None:
        """Say that there are no further ones."""
        if self._due.range is not None:
            self._due.range.close()

    def _delete_range(self, *, limit: int, last: Any) -> Batch | None:
        """Return None where it is to be done row by row."""
        ranged = self._due.range
        if ranged is None:
            return None
        try:
            deleted, ends_at = self._change(ranged, limit=limit, last=last)
        except OperationalError as error:
            if isinstance(error.__cause__, (postgres.LockNotAvailable, postgres.DeadlockDetected)):
                return None
            raise
        batch = Batch(deleted=deleted, may_be_more=ends_at is not None, last=ends_at)
        if ends_at is None or deleted == limit:
            return batch
        # A row was renewed meanwhile, or those where it ended are of one age.
        if not deleted:
            self._crowd = Crowd(self._due, age=ends_at)
        return self._made_up(batch, limit=limit)

    def _change(self, ranged: Range, *, limit: int, last: Any) -> tuple[int, str | None]:
        def send(deletion: str) -> tuple[int, str | None]:
            return change_shortly(
                # A crash may forget a batch: the next sweep deletes it again.
                ranged.using, deletion, then=ranged.end, is_durable=False, limits=limits
            )  # fmt: skip

        limits = _limits(RANGE_LOCK_MS)
        if last is None:  # may be the only one, and is not worth a plan that is kept
            return send(ranged.deletion(limit=limit, last=last))
        return ranged.send_planned(send, limit=limit, last=last)

    def _delete_crowd(self, crowd: Crowd, *, limit: int) -> Batch:
        """Delete rows of one age by their places; where none are left, make the batch up."""
        if crowd.is_used_up:
            crowd.find(limit=limit, limits=_limits(LOCK_MS))
        deleted = self._delete_places(crowd, limit=limit)
        batch = Batch(deleted=deleted, may_be_more=True, last=crowd.age)
        if deleted == limit or not crowd.is_used_up:
            return batch
        return self._made_up(batch, limit=limit)

    def _delete_places(self, crowd: Crowd, *, limit: int) -> int:
        missing = limit
        try:
            for _ in range(ROUNDS):
                statement = crowd.deletion(missing)
                if statement is None:
                    break
                deleted = self._run(statement).deleted
                crowd.leave(missing)
                missing -= deleted
        except OperationalError as error:
            if missing == limit or not is_too_slow(error):
                raise
        return limit - missing

    def _made_up(self, batch: Batch, *, limit: int) -> Batch:
        """Delete what is missing from a batch row by row."""
        try:
            rest = self._delete_unlocked(limit=limit - batch.deleted, last=batch.last)
        except OperationalError as error:
            if not (batch.deleted and is_too_slow(error)):
                raise
            return batch  # what it has deleted counts; the next one goes on there
        return Batch(
            deleted=batch.deleted + rest.deleted, may_be_more=rest.may_be_more, last=rest.last
        )

    def _delete_unlocked(self, *, limit: int, last: Any) -> Batch:
        """Delete what nobody has locked."""
        statement = self._due.batch(limit=limit, last=last)
        if statement is None:
            return Batch(deleted=0, may_be_more=False, last=last)
        return self._run(statement)

    def _run(self, statement: str) -> Batch:
        [[(deleted, may_be_more, ended_at)]] = run_shortly(
            self._due.using, statement, is_durable=False, limits=_limits(LOCK_MS)
        )
        return Batch(deleted=deleted, may_be_more=may_be_more, last=ended_at)


def is_too_slow(error: OperationalError) -> bool:
    """Say whether a statement ran into one of its time limits, or waited in a circle."""
    slow = (postgres.QueryCanceled, postgres.LockNotAvailable, postgres.DeadlockDetected)
    return isinstance(error.__cause__, slow)


def _limits(lock_ms: int) -> TimeLimits:
    statement_ms = engine.STATEMENT_TIMEOUT_MS.get()
    return TimeLimits(statement_ms=statement_ms, lock_ms=min(lock_ms, statement_ms // 2))
