"""
One walk through what a bucket lists, deleting it batch by batch.

Each listing begins where the one before began, since what was deleted is not listed any more.
So a listing also says what became of the batch before it: only what was reported as deleted
and is gone from the list is confirmed. What is still there is stuck, and the walk goes on
behind it; a walk therefore ends, also with a store that reports as deleted what it keeps. No
more is held in memory than a page.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from deletions.buckets.errors import RefusedBatchesError, StuckKeysError
from jobs.objectstore import BatchResult, ErrorKind, FailedKey

STILL_LISTED = "StillListed"
STILL_LISTED_WORDS = "the store reported it as deleted and lists it again"
KEPT = 20
# Batches in a row of which nothing went, for reasons that may pass: the store is not well.
MOST_REFUSED = 3

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
    refused: int = 0  # batches in a row

    def add(self, failed: FailedKey) -> None:
        """Note a key that is still there."""
        self.count += 1
        if len(self.first) < KEPT:
            self.first.append(failed)

    def error(self, kind: type[StuckKeysError] = StuckKeysError) -> StuckKeysError:
        """Return it as the error that the claim ends with."""
        first = self.first[0]
        return kind(count=self.count, key=first.key, code=first.code, message=first.message)


def walk(
    source: Source[Item, Cursor],
    stuck: Stuck,
    *,
    confirm: Callable[[int, int], None],
    check: Callable[[], None],
) -> None:
    """
    Delete what the source lists, to the end of the list.

    ``confirm`` is called after each listing with the number of keys confirmed by it and of
    items that are listed and were not tried before; ``check`` before each request, and raises
    to stop. Raises ``RefusedBatchesError``, and ``StoreError`` for what concerns all keys.
    """
    after: Cursor | None = None
    tried: dict[Item, FailedKey | None] = {}
    while True:
        check()
        page = source.page(after)
        left = [item for item in page.items if item in tried]
        fresh = [item for item in page.items if item not in tried]
        for item in left:
            stuck.add(tried[item] or _still_listed(source.key(item)))
        gone = tried.keys() - set(left)
        confirm(sum(tried[item] is None for item in gone), len(fresh))
        if left:
            after = source.cursor(left[-1])
        if fresh:
            check()
            tried = _tried(source, fresh)
            _refuse_many(stuck, tried)
        elif page.next is None:
            return
        else:
            tried, after = {}, page.next


def _tried(source: Source[Item, Any], items: Sequence[Item]) -> dict[Item, FailedKey | None]:
    """Delete items; return what the store said against each, None for nothing."""
    result = source.delete(items)
    errors = {failed.key: failed for failed in result.errors if failed.kind is not ErrorKind.GONE}
    return {item: errors.get(source.key(item)) for item in items}


def _refuse_many(stuck: Stuck, tried: dict[Item, FailedKey | None]) -> None:
    """Raise when batch after batch is refused for a reason that may pass."""
    transient = [failed for failed in tried.values() if failed and _may_pass(failed)]
    stuck.refused = stuck.refused + 1 if len(transient) == len(tried) else 0
    if stuck.refused >= MOST_REFUSED:
        for failed in transient:
            stuck.add(failed)
        raise stuck.error(RefusedBatchesError)


def _may_pass(failed: FailedKey) -> bool:
    return failed.kind is ErrorKind.TRANSIENT


def _still_listed(key: str) -> FailedKey:
    return FailedKey(key=key, code=STILL_LISTED, message=STILL_LISTED_WORDS)
