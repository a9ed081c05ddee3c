"""
One walk through what a bucket lists, deleting it batch by batch.

What is deleted is not listed any more, so each listing begins where the one before began, and
says what became of the batches before it: only what was reported as deleted and is gone from
the list is confirmed. What is still there is stuck, and the walk goes on behind it. A walk
therefore ends, also with a store that reports as deleted what it keeps.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from deletions.buckets.errors import RefusedBatchesError, StuckKeysError
from jobs.objectstore import BatchResult, ErrorKind, FailedKey

STILL_LISTED = "StillListed"
STILL_LISTED_WORDS = "the store reported it as deleted and lists it again"
FAILED_KEPT = 20
# Batches in a row of which nothing went, for reasons that may pass: the store is not well.
MOST_REFUSED = 3
# Keys that are known already are deleted without listing them once more; a listing in between
# takes at most a tenth of the time. Some servers look at a whole bucket for each page of it.
LISTING_SHARE = 9

Item = TypeVar("Item", bound=Hashable)
Cursor = TypeVar("Cursor")


@dataclass(frozen=True, kw_only=True)
class Listed(Generic[Item, Cursor]):
    """One page of a listing."""

    items: Sequence[Item]
    next: Cursor | None  # where the page after it begins; None after the last


class Source(Protocol[Item, Cursor]):
    """What is listed and deleted: the objects of a bucket, or their versions."""

    def page(self, after: Cursor | None) -> Listed[Item, Cursor]:
        """List up to 1,000 items that come after a cursor."""

    def delete(self, items: Sequence[Item]) -> BatchResult:
        """Delete them by one request."""

    def cursor(self, item: Item) -> Cursor:
        """Return the cursor behind an item."""

    def key(self, item: Item) -> str:
        """Return an item's key."""


@dataclass(kw_only=True)
class Stuck:
    """What could not be deleted in this claim."""

    count: int = 0
    first: list[FailedKey] = field(default_factory=list)

    def add(self, failed: FailedKey) -> None:
        """Note a key that is still there."""
        self.count += 1
        if len(self.first) < FAILED_KEPT:
            self.first.append(failed)

    def error(self, kind: type[StuckKeysError] = StuckKeysError) -> StuckKeysError:
        """Return it as the error that the claim ends with."""
        first = self.first[0]
        return kind(count=self.count, key=first.key, code=first.code, message=first.message)


class Watcher(Protocol):
    """What a walk reports to."""

    def confirm(self, gone: int, found: int) -> None:
        """Note how many items are gone, and how many others are known to be there."""


class Walk(Generic[Item, Cursor]):
    """Deletes what a source lists, to the end of the list."""

    def __init__(
        self,
        source: Source[Item, Cursor],
        stuck: Stuck,
        watcher: Watcher,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source, self._stuck, self._watcher, self._clock = source, stuck, watcher, clock
        self._after: Cursor | None = None
        # Tried and not known to be gone, each with what the store said against it.
        self._tried: dict[Item, FailedKey | None] = {}
        self._refused = 0  # batches in a row
        self._listed_at = self._listing_seconds = 0.0

    def run(self, known: Iterable[Sequence[Item]] = ()) -> None:
        """
        Delete ``known`` batches, which were listed before, and then all that is listed.

        Raises ``RefusedBatchesError``, and ``StoreError`` for what concerns all keys.
        """
        ahead = deque(known)
        fresh: Sequence[Item] = () if ahead else self._look(ahead)
        while batch := ahead.popleft() if ahead else fresh:
            self._delete(batch)
            if not ahead or self._may_look():
                fresh = self._look(ahead)

    def _delete(self, batch: Sequence[Item]) -> None:
        result = self._source.delete(batch)
        errors = {error.key: error for error in result.errors if error.kind is not ErrorKind.GONE}
        said = {item: errors.get(self._source.key(item)) for item in batch}
        self._tried |= said
        self._refuse_many(list(said.values()))

    def _look(self, ahead: Iterable[Sequence[Item]]) -> Sequence[Item]:
        """List what is left, and settle what was tried; return what was not tried yet."""
        while True:
            page = self._list()
            left = [item for item in page.items if item in self._tried]
            for item in left:
                self._stuck.add(self._tried.pop(item) or _still_listed(self._source.key(item)))
            if left:
                self._after = self._source.cursor(left[-1])
            stuck = set(left)
            fresh = [item for item in page.items if item not in stuck]
            if fresh or page.next is None:
                self._confirm(sum(map(len, ahead)) or len(fresh))
                return fresh

    def _list(self) -> Listed[Item, Cursor]:
        began = self._clock()
        page = self._source.page(self._after)
        self._listed_at = self._clock()
        self._listing_seconds = self._listed_at - began
        return page

    def _confirm(self, found: int) -> None:
        """Count what was tried and is not listed: lists are in order, so it is gone."""
        gone = sum(failed is None for failed in self._tried.values())
        self._tried.clear()
        self._watcher.confirm(gone, found)

    def _may_look(self) -> bool:
        since = self._clock() - self._listed_at
        return since >= self._listing_seconds * LISTING_SHARE

    def _refuse_many(self, said: list[FailedKey | None]) -> None:
        """Raise when batch after batch is refused for a reason that may pass."""
        transient = [failed for failed in said if failed and failed.kind is ErrorKind.TRANSIENT]
        self._refused = self._refused + 1 if len(transient) == len(said) else 0
        if self._refused >= MOST_REFUSED:
            for failed in transient:
                self._stuck.add(failed)
            raise self._stuck.error(RefusedBatchesError)


def _still_listed(key: str) -> FailedKey:
    return FailedKey(key=key, code=STILL_LISTED, message=STILL_LISTED_WORDS)
