"""
Claims: rows in this worker's hands, and every write that may follow.

Each write is one UPDATE that carries the ids and the claim token. A row that it does not
change was lost to another worker: one warning, nothing overwritten, the others go on.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F
from django.db.models.functions import Greatest

from jobs import backoff
from jobs.claims.burial import report_dead
from jobs.claims.holdings import holdings, suspect_gate
from jobs.claims.limit import heartbeat_guard
from jobs.claims.policy import ClaimPolicy, Counts, Lease
from jobs.claims.settlement import Completion, Settlement
from jobs.claims.writes import both, fenced_update
from jobs.clock import ClockTime, from_now
from jobs.errors import LostClaimError
from jobs.failure import describe, storable
from jobs.outage import persist
from jobs.queues import QueueRow
from jobs.redaction import mask_secrets
from jobs.transactions import write_shortly

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Following:
    """A claimed row that is begun in the statement that settles another of its queue."""

    claim: Claim
    row: QueueRow

    def statement(self) -> str:
        """Return the statement that begins it."""
        values = {"begun_at": ClockTime()}
        return fenced_update(self.claim.policy, [self.row.pk], self.claim.token, values)

    def take_answer(self, changed: Collection[int]) -> set[int]:
        """Note whether it was begun, by the ids that were written; return its own of them."""
        if self.row.pk in changed:
            self.claim.accept_begun(self.row)
            return {self.row.pk}
        self.claim.report_lost_among([self.row.pk], changed)
        return set()


class Claim:
    """The rows of one claim statement, which share a token."""

    def __init__(
        self,
        policy: ClaimPolicy,
        token: uuid.UUID,
        rows: Sequence[QueueRow],
        *,
        suspect: bool = False,
        claimed: float | None = None,
    ) -> None:
        self.policy = policy
        self.token = token
        self.token_text = str(token)
        self.rows = list(rows)
        self.suspect = suspect
        # When the database was last asked to claim or refresh the rows; monotonic.
        self._refreshed = time.monotonic() if claimed is None else claimed
        self._lock = threading.Lock()
        self._key = policy.model._meta.pk.attname  # row.pk looks it up for each row
        self.held: dict[int, QueueRow] = {getattr(row, self._key): row for row in rows}
        # Rows whose last write is under way: nobody else ends or refreshes them meanwhile.
        self._settling: set[int] = set()
        self._begun_ahead: set[int] = set()
        # Gives the row that the calling thread works on next, to begin it in the statement
        # that settles the one before.
        self.follow: Callable[[Claim, int], Following | None] | None = None
        holdings.add(self)

    def begin(self, row: QueueRow, *, is_durable: bool = True, **fields: Any) -> None:
        """
        Commit that work on the row begins. Raises ``LostClaimError``.

        Not durable, a crash of the database itself may forget it: the row is then claimed
        again as one that nothing is known against. A crash of this process forgets nothing.
        A row that was begun in the statement that settled the one before is not written again.
        """
        if row.pk in self._begun_ahead:
            self._begun_ahead.discard(row.pk)
            return
        self.note(row, is_durable=is_durable, begun_at=ClockTime(), **fields)

    def accept_begun(self, row: QueueRow) -> None:
        """Note that another row's statement has begun this one."""
        self._begun_ahead.add(row.pk)

    def note(self, row: QueueRow, *, is_durable: bool = True, **fields: Any) -> None:
        """Write columns of a row in work. Raises ``LostClaimError`` when it is lost."""
        if not self._write([row], fields, is_durable=is_durable):
            raise LostClaimError(self.policy.queue, row.pk)

    def complete(self, *rows: QueueRow, **fields: Any) -> int:
        """Mark rows done (all of the claim by default); return how many were still held."""
        return self._settle(rows or self.rows, {"status": self.policy.done_status} | fields)

    @contextlib.contextmanager
    def completion(self) -> Iterator[Completion]:
        """
        Give the statement that marks all rows done which are held, to commit it with another.

        Its answer is to be put into ``changed``; if the block raises, nothing was done.
        """
        with self._settled_alone(list(self.held)) as mine:
            values = self._ended({"status": self.policy.done_status})
            statement = fenced_update(self.policy, mine, self.token, values)
            completion = Completion(ids=mine, statement=statement)
            yield completion
            self._end(mine, completion.changed)

    @contextlib.contextmanager
    def settlement(self, ids: Iterable[int]) -> Iterator[Settlement]:
        """
        Give those ids whose rows are held, to settle them by a statement of one's own.

        The statement is fenced by the ids and the claim's token, and clears the claim's
        columns. Its answer is to be put into ``changed``; if the block raises, nothing was
        done.
        """
        with self._settled_alone(ids) as mine:
            settlement = Settlement(ids=mine)
            yield settlement
            self._end(mine, settlement.changed)

    def retry(
        self,
        row: QueueRow,
        error: BaseException | str,
        *,
        delay_ms: int | None = None,
        **fields: Any,
    ) -> int:
        """
        Mark a row failed: due again after the backoff, or a dead letter at the cap.

        ``delay_ms`` replaces the backoff. Returns how many rows were still held (0 or 1).
        """
        attempts = row.attempts
        if self.policy.counts is Counts.IN_CATCH:
            attempts += 1
        if attempts >= self.policy.cap_of(row):
            return self.bury(row, error, attempts=attempts, **fields)
        if delay_ms is None:
            delay_ms = backoff.delay_ms(attempts, self.policy.backoff_ms)
        values = {
            "status": "failed",
            "attempts": attempts,
            "next_retry_at": from_now(delay_ms),
            "last_error": _error_text(error),
        }
        return self._settle([row], values | fields)

    def bury(self, row: QueueRow, error: BaseException | str, **fields: Any) -> int:
        """Make a row a dead letter: it will never be retried by itself."""
        values = {
            **self.policy.on_bury,
            "status": self.policy.dead_status,
            "last_error": _error_text(error),
        }
        changed = self._settle([row], values | fields)
        if changed:
            report_dead(self.policy, [row.pk], str(values["last_error"]).partition("\n")[0])
        return changed

    def wait(self, row: QueueRow, *, delay_ms: int, **fields: Any) -> int:
        """Give a row back that waits for something: no attempt spent, due again later."""
        return self._settle(
            [row], self._given_back() | {"next_retry_at": from_now(delay_ms)} | fields
        )

    def release(self, *rows: QueueRow, delay_ms: int | None = None, **fields: Any) -> int:
        """Give rows back as if they had not been claimed, due at once or after a delay."""
        values = self._given_back() | fields
        if delay_ms is not None:
            values["next_retry_at"] = from_now(delay_ms)
        return self._settle(rows or self.rows, values)

    def interrupt(self, row: QueueRow, *, delay_ms: int | None = None, **fields: Any) -> int:
        """
        Give a row back that a shutdown took out of work in flight.

        The attempt is restored, at most ``max_interruptions`` times; then it counts.
        """
        if row.interruptions >= self.policy.max_interruptions:
            return self.retry(
                row, "Interrupted by a shutdown too often to be given back.", **fields
            )
        return self.release(row, delay_ms=delay_ms, interruptions=F("interruptions") + 1, **fields)

    def heartbeat(self) -> int:
        """Refresh what is still held; forget what was lost. Returns the rows refreshed."""
        with self._lock:
            rows = [row for row in self.held.values() if row.pk not in self._settling]
        began = time.monotonic()
        values: dict[str, Any]
        if isinstance(self.policy.expiry, Lease):
            values = {"lease_expires_at": from_now(self.policy.expiry.ms)}
        else:
            values = {"claimed_at": ClockTime()}
        refreshed = self._write(rows, values, guard=heartbeat_guard(self.policy))
        self._refreshed = began
        return refreshed

    def holds(self, row: QueueRow) -> bool:
        """Say whether the row is still this claim's, as far as this process knows."""
        return getattr(row, self._key) in self.held

    def is_alive(self, row: QueueRow) -> bool:
        """
        Say whether the row is still this claim's by this process's own clock.

        Asked before what cannot be fenced, such as a request to another service: a process
        that stood still knows it before the database has told it.
        """
        age_ms = (time.monotonic() - self._refreshed) * 1000
        return self.holds(row) and age_ms < self.policy.expiry.ms

    def forget(self, *rows: QueueRow) -> None:
        """Stop refreshing rows whose outcome can no longer be written."""
        self._forget(row.pk for row in rows)

    def _forget(self, ids: Iterable[int]) -> None:
        with self._lock:
            for row_id in ids:
                self.held.pop(row_id, None)
            done = not self.held
            leaves, self.suspect = done and self.suspect, self.suspect and not done
        if done:
            holdings.discard(self)
        if leaves:
            suspect_gate.leave()

    def _settle(self, rows: Iterable[QueueRow], values: dict[str, Any]) -> int:
        ended = self._ended(values)
        with self._settled_alone([row.pk for row in rows]) as mine:
            following = self._following(mine)
            changed = persist(
                lambda: self._update(mine, ended, following=following),
                using=self.policy.using,
                seconds=self.policy.expiry.ms / 1000,
            )
            if following is not None:
                changed -= following.take_answer(changed)
            self._end(mine, changed)
        return len(changed)

    def _following(self, ids: Collection[int]) -> Following | None:
        if self.follow is None or len(ids) != 1:
            return None
        return self.follow(self, *ids)

    @contextlib.contextmanager
    def _settled_alone(self, ids: Iterable[int]) -> Iterator[Collection[int]]:
        """Give the ids of those rows that are held and that no other thread is settling."""
        with self._lock:
            mine = [
                row_id for row_id in ids if row_id in self.held and row_id not in self._settling
            ]
            self._settling.update(mine)
        try:
            yield mine
        finally:
            with self._lock:
                self._settling.difference_update(mine)

    def _end(self, ids: Collection[int], changed: set[int]) -> None:
        self._report_lost(row_id for row_id in ids if row_id not in changed)
        self._forget(ids)

    def _ended(self, values: dict[str, Any]) -> dict[str, Any]:
        return dict.fromkeys(self.policy.model.CLAIM_COLUMNS) | values

    def _write(
        self,
        rows: Iterable[QueueRow],
        values: dict[str, Any],
        *,
        is_durable: bool = True,
        guard: Sequence[str] = (),
    ) -> int:
        """Write columns of rows that stay in work."""
        ids = [row.pk for row in rows if self.holds(row)]
        changed = self._update(ids, values, is_durable=is_durable, guard=guard)
        self.report_lost_among(ids, changed)
        return len(changed)

    def _update(
        self,
        ids: Collection[int],
        values: dict[str, Any],
        *,
        is_durable: bool = True,
        guard: Sequence[str] = (),
        following: Following | None = None,
    ) -> set[int]:
        if not ids:
            return set()
        statement = fenced_update(self.policy, ids, self.token, values)
        if following is not None:
            statement = both(statement, following.statement())
        return write_shortly(self.policy.using, *guard, statement, is_durable=is_durable)

    def report_lost_among(self, ids: Iterable[int], changed: Collection[int]) -> None:
        """Warn of rows that a write should have changed and did not; forget them."""
        with self._lock:
            # What another thread has settled in this moment is not lost.
            lost = [
                row_id
                for row_id in ids
                if row_id not in changed and row_id in self.held and row_id not in self._settling
            ]
        self._report_lost(lost)

    def _report_lost(self, ids: Iterable[int]) -> None:
        for row_id in ids:
            logger.warning("stale_completion_rejected queue=%s id=%s", self.policy.queue, row_id)
            self._forget([row_id])

    def _given_back(self) -> dict[str, Any]:
        values: dict[str, Any] = {"status": "pending"}
        if self.policy.counts is Counts.ON_CLAIM:
            # Work that has set its attempts back has none to be given back.
            values["attempts"] = Greatest(F("attempts") - 1, 0)
        return values


def _error_text(error: BaseException | str) -> str:
    return describe(error) if isinstance(error, BaseException) else storable(mask_secrets(error))
