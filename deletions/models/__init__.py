"""The tables of deletions."""

from deletions.models.billing import BillingAudit, BillingOutcome
from deletions.models.bucket import BUCKET_LIVE, BucketDeletionJob, BucketPhase, BucketStatus
from deletions.models.deletion import LIVE, DeletionStatus, UserDeletion
from deletions.models.step import SETTLED, Half, StepState, UserDeletionStep

__all__ = [
    "BUCKET_LIVE",
    "LIVE",
    "SETTLED",
    "BillingAudit",
    "BillingOutcome",
    "BucketDeletionJob",
    "BucketPhase",
    "BucketStatus",
    "DeletionStatus",
    "Half",
    "StepState",
    "UserDeletion",
    "UserDeletionStep",
]
