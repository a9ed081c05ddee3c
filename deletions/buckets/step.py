"""The external step of a user's deletion that has the user's buckets deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deletions.buckets.errors import BucketSnapshotError, CancelledBucketError
from deletions.buckets.requests import place_of, queue_bucket
from deletions.errors import StepError
from deletions.models import BucketDeletionJob, DeletionStatus, Half
from deletions.steps import Answer, Skipped, StepCall
from jobs.errors import EngineroomError
from jobs.workers.queue_pass import Waiting

WAIT_SECONDS = 60


class DeleteBuckets:
    """Queues the deletion of each bucket in the snapshot, and waits until all are gone."""

    name = "buckets"
    half = Half.EXTERNAL.value
    left_behind = "the user's buckets and the objects in them are still there"

    def run(self, call: StepCall) -> Answer:
        """Queue what is not queued, and look; skipped without buckets."""
        entries = call.snapshot.get("buckets") or []
        if not entries:
            return Skipped(reason="the user has no buckets")
        jobs = [_job_of(call, **_asked(entry)) for entry in entries]
        for job in jobs:
            if job.status == DeletionStatus.CANCELLED:
                raise CancelledBucketError(job.bucket_name, job.pk)
        left = [job for job in jobs if not _is_done(job, call)]
        call.say(_words(left, len(jobs)))
        return Waiting(seconds=WAIT_SECONDS) if left else None


def _asked(entry: Any) -> dict[str, Any]:
    """Return an entry of the snapshot as the arguments of a request."""
    if isinstance(entry, str):
        return {"name": entry, "endpoint": None, "prefix": ""}
    fits = isinstance(entry, Mapping) and entry.keys() <= {"name", "endpoint", "prefix"}
    if not fits or not isinstance(entry.get("name"), str):
        raise BucketSnapshotError(entry)
    return {"endpoint": None, "prefix": "", **entry}


def _job_of(call: StepCall, *, name: str, endpoint: str | None, prefix: str) -> BucketDeletionJob:
    """
    Return this deletion's own job of a bucket, or the live one of somebody else.

    One of somebody else that is done says nothing: the bucket may be there again.
    """
    try:
        place = place_of(name, endpoint=endpoint, prefix=prefix)
        own = BucketDeletionJob.objects.filter(user_deletion_id=call.deletion_id, **place)
        return own.order_by("-pk").first() or queue_bucket(
            name,
            endpoint=endpoint,
            prefix=prefix,
            requested_by=f"user deletion {call.deletion_id}",
            user_deletion_id=call.deletion_id,
        )
    except EngineroomError as error:
        raise StepError(str(error)) from None


def _is_done(job: BucketDeletionJob, call: StepCall) -> bool:
    return job.status == DeletionStatus.DONE and job.user_deletion_id == call.deletion_id


def _words(left: list[BucketDeletionJob], count: int) -> str:
    if not left:
        return f"{count} deleted"
    listed = ", ".join(f"{job.bucket_name} {job.status} (job {job.pk})" for job in left)
    return f"{count - len(left)} of {count} deleted; left: {listed}"
