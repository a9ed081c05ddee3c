"""What a worker does with one claimed bucket deletion."""

from __future__ import annotations

import logging
from typing import Any, cast

from deletions.buckets.emptying import Emptying
from deletions.buckets.progress import Progress, StoppedError
from deletions.models import BucketDeletionJob
from jobs.claims import Claim
from jobs.clock import ClockTime
from jobs.context import RunContext
from jobs.errors import EngineroomError, LostClaimError
from jobs.failure import storable
from jobs.objectstore import FailedKey, open_store
from jobs.outage import is_outage
from jobs.queues import QueueRow
from jobs.redaction import mask_secrets

logger = logging.getLogger(__name__)
MESSAGE_LENGTH = 300


class BucketWork:
    """Runs one claim and settles the row by what came of it."""

    def __init__(self, context: RunContext) -> None:
        self.context = context

    def work(self, claim: Claim, row: QueueRow) -> None:
        """Begin the row, work on it and settle it; does not raise."""
        job = cast("BucketDeletionJob", row)
        try:
            claim.begin(job)
            self._attempt(claim, job)
        except LostClaimError:
            logger.warning("bucket_deletion_lost id=%s bucket=%s", job.pk, job.bucket_name)
            claim.forget(job)
            self.context.tally(lost=1)
        except Exception as error:  # noqa: BLE001 (logged below)
            # The outcome could not be written: the row turns stale and is claimed again.
            claim.forget(job)
            log = logger.warning if is_outage(error) else logger.exception
            log("outcome_not_written queue=%s id=%s", claim.policy.queue, job.pk)

    def interrupt(self, claim: Claim, row: QueueRow) -> None:
        """Give the row back at the end of the grace; a request may still be under way."""
        claim.interrupt(row)

    def _attempt(self, claim: Claim, job: BucketDeletionJob) -> None:
        emptying: Emptying | None = None
        try:
            store = open_store(job.endpoint)
            emptying = Emptying(job, store, Progress(claim, job, self.context))
            emptying.run()
        except LostClaimError:
            raise
        except StoppedError:
            self._tally(claim.release(job), released=1)
        except Exception as error:  # noqa: BLE001 (one bad row holds up no other)
            self._fail(claim, job, error, emptying)
        else:
            self._complete(claim, job)

    def _complete(self, claim: Claim, job: BucketDeletionJob) -> None:
        # What was deleted and not counted, since a worker died in between, is gone as well.
        total = max(job.total_objects or 0, job.deleted_objects)
        done = claim.complete(
            job,
            total_objects=total,
            deleted_objects=total,
            failed_keys=[],
            failed_objects=0,
            last_error="",
            attempts=0,
            done_at=ClockTime(),
        )
        logger.info(
            "bucket_deletion_done id=%s bucket=%s deleted=%s", job.pk, job.bucket_name, total
        )
        self._tally(done, done=1)

    def _fail(
        self, claim: Claim, job: BucketDeletionJob, error: Exception, emptying: Emptying | None
    ) -> None:
        expected = isinstance(error, EngineroomError)
        logger.warning(
            "bucket_deletion_failed id=%s bucket=%s error=%s", job.pk, job.bucket_name, error
        )
        changed = claim.retry(job, str(error) if expected else error, **_left_by(emptying))
        self._tally(changed, failed=1)

    def _tally(self, changed: int, **counts: int) -> None:
        self.context.tally(**(counts if changed else {"lost": 1}))


def _left_by(emptying: Emptying | None) -> dict[str, Any]:
    """Return the columns that say what could not be deleted."""
    if emptying is None:
        return {}
    return {
        "failed_keys": [_kept(failed) for failed in emptying.stuck.first],
        "failed_objects": emptying.stuck.count,
    }


def _kept(failed: FailedKey) -> dict[str, str]:
    message = storable(mask_secrets(" ".join(failed.message.split())))
    return {
        "key": storable(failed.key),
        "code": storable(failed.code),
        "message": message[:MESSAGE_LENGTH],
    }
