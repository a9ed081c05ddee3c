"""One claim's work on a bucket: count, then phase after phase."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from deletions.buckets.errors import RefilledBucketError
from deletions.buckets.progress import Progress
from deletions.buckets.sources import Objects, Versions
from deletions.buckets.walk import Source, Stuck, Walk
from deletions.models import BucketDeletionJob, BucketPhase
from jobs.objectstore import BucketNotEmptyError, NoSuchBucketError, ObjectStore, guarded

# What is written meanwhile is deleted as well, so often in one claim.
ROUNDS = 3
# Of a count; what is known need not be listed again.
MOST_KNOWN = 25_000

Batches = list[Sequence[Any]]


class Emptying:
    """Empties the bucket of a job and removes it."""

    def __init__(self, job: BucketDeletionJob, store: ObjectStore, progress: Progress) -> None:
        self._job, self._store, self._progress = job, store, progress
        place: dict[str, Any] = {"store": store, "bucket": job.bucket_name, "prefix": job.prefix}
        self._objects = Objects(**place)
        self._versions = Versions(**place)
        self.stuck = Stuck()

    def run(self) -> None:
        """
        Leave nothing, or raise: ``StuckKeysError``, ``StoreError``, ``RefilledBucketError``.

        A bucket that is not there is done.
        """
        with guarded(self._progress.check), contextlib.suppress(NoSuchBucketError):
            self._run()

    def _run(self) -> None:
        known = self._count_objects()
        for _ in range(ROUNDS):
            self._empty(known)
            if self._is_empty() and self._drop():
                return
            known = []
        raise RefilledBucketError(self._job.bucket_name, ROUNDS)

    def _count_objects(self) -> Batches:
        """Count the objects, unless an earlier claim has; return the first of them."""
        if self._job.total_objects is not None:
            return []
        self._progress.enter(BucketPhase.OBJECTS)
        count, known = self._count(self._objects)
        self._progress.counted(count)
        return known

    def _empty(self, known: Batches) -> None:
        """Delete objects, versions and pending uploads; raise after a phase that is stuck."""
        self._progress.enter(BucketPhase.OBJECTS)
        self._progress.begin_emptying()
        self._walk(self._objects, known)
        self._progress.enter(BucketPhase.VERSIONS)
        self._walk(self._versions, self._count_versions())
        self._progress.enter(BucketPhase.UPLOADS)
        self._abort_uploads()

    def _walk(self, source: Source[Any, Any], known: Batches) -> None:
        Walk(source, self.stuck, self._progress).run(known)
        self._refuse_stuck()

    def _count_versions(self) -> Batches:
        """Add the versions to the total, which counted the objects that were to be seen."""
        count, known = self._count(self._versions)
        if count:
            self._progress.counted(self._job.deleted_objects + count)
        return known

    def _count(self, source: Source[Any, Any]) -> tuple[int, Batches]:
        """Count what is listed; return its first pages as well."""
        count, known, after, is_last = 0, list[Sequence[Any]](), None, False
        while not is_last:
            page = source.page(after)
            count, after, is_last = count + len(page.items), page.next, page.next is None
            if page.items and count <= MOST_KNOWN:
                known.append(page.items)
            self._progress.listed(count)
        return count, known

    def _abort_uploads(self) -> None:
        result = self._store.abort_uploads(self._job.bucket_name, prefix=self._job.prefix)
        for failed in result.errors:
            self.stuck.add(failed)
        self._refuse_stuck()

    def _refuse_stuck(self) -> None:
        # Only now: what does not go must not hold up what does.
        if self.stuck.count:
            raise self.stuck.error()

    def _is_empty(self) -> bool:
        self._progress.enter(BucketPhase.VERIFY)
        return not (self._objects.page(None).items or self._versions.page(None).items)

    def _drop(self) -> bool:
        """Remove the bucket; say whether it is gone. With a prefix it stays."""
        if self._job.prefix:
            return True
        self._progress.enter(BucketPhase.BUCKET)
        try:
            self._store.drop_bucket(self._job.bucket_name)
        except BucketNotEmptyError:
            return False
        return True
