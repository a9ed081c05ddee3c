"""One claim's work on a bucket: count, then phase after phase."""

from __future__ import annotations

from typing import Any

from deletions.buckets.errors import RefilledBucketError
from deletions.buckets.progress import Progress
from deletions.buckets.sources import Objects, Versions
from deletions.buckets.walk import Source, Stuck, walk
from deletions.models import BucketDeletionJob, BucketPhase
from jobs.objectstore import BucketNotEmptyError, NoSuchBucketError, ObjectStore

# What is written meanwhile is deleted as well, so often in one claim.
ROUNDS = 3


class Emptying:
    """Empties the bucket of a job and removes it."""

    def __init__(self, job: BucketDeletionJob, store: ObjectStore, progress: Progress) -> None:
        self._job, self._store, self._progress = job, store, progress
        self._bucket, self._prefix = job.bucket_name, job.prefix
        self.stuck = Stuck()

    def run(self) -> None:
        """
        Leave nothing, or raise: ``StuckKeysError``, ``StoreError``, ``RefilledBucketError``.

        A bucket that is not there is done.
        """
        try:
            self._count_once()
            self._progress.begin_emptying()
            for _ in range(ROUNDS):
                self._empty()
                if self._is_empty() and self._drop():
                    return
        except NoSuchBucketError:
            return
        raise RefilledBucketError(self._bucket, ROUNDS)

    def _count_once(self) -> None:
        """Count the objects, unless an earlier claim has."""
        if self._job.total_objects is not None:
            return
        self._progress.enter(BucketPhase.OBJECTS)
        after, count, is_last = "", 0, False
        while not is_last:
            self._progress.check()
            page = self._store.list_page(self._bucket, prefix=self._prefix, after=after)
            count, is_last = count + len(page.keys), page.is_last
            after = page.keys[-1] if page.keys else after
            self._progress.listed(count)
        self._progress.counted(count)

    def _empty(self) -> None:
        """Delete objects, versions and pending uploads; raise after a phase that is stuck."""
        self._begin(BucketPhase.OBJECTS)
        self._walk(self._objects)
        self._begin(BucketPhase.VERSIONS)
        self._count_versions()
        self._walk(self._versions)
        self._begin(BucketPhase.UPLOADS)
        self._abort_uploads()

    def _begin(self, phase: BucketPhase) -> None:
        self._progress.check()
        self._progress.enter(phase)

    @property
    def _objects(self) -> Objects:
        return Objects(store=self._store, bucket=self._bucket, prefix=self._prefix)

    @property
    def _versions(self) -> Versions:
        return Versions(store=self._store, bucket=self._bucket, prefix=self._prefix)

    def _walk(self, source: Source[Any, Any]) -> None:
        walk(source, self.stuck, confirm=self._progress.confirm, check=self._progress.check)
        self._refuse_stuck()

    def _count_versions(self) -> None:
        """Add the versions to the total, which counted the objects that were to be seen."""
        count, after, is_last = 0, None, False
        while not is_last:
            self._progress.check()
            page = self._versions.page(after)
            count, after, is_last = count + len(page.items), page.next, page.next is None
            self._progress.listed(count)
        if count:
            self._progress.counted(self._job.deleted_objects + count)

    def _abort_uploads(self) -> None:
        result = self._store.abort_uploads(self._bucket, prefix=self._prefix)
        for failed in result.errors:
            self.stuck.add(failed)
        self._refuse_stuck()

    def _refuse_stuck(self) -> None:
        # Only now: what does not go must not hold up what does.
        if self.stuck.count:
            raise self.stuck.error()

    def _is_empty(self) -> bool:
        self._begin(BucketPhase.VERIFY)
        if self._objects.page(None).items:
            return False
        return not self._versions.page(None).items

    def _drop(self) -> bool:
        """Remove the bucket; say whether it is gone. With a prefix it stays."""
        if self._prefix:
            return True
        self._begin(BucketPhase.BUCKET)
        try:
            self._store.drop_bucket(self._bucket)
        except BucketNotEmptyError:
            return False
        return True
