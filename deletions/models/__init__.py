"""The tables of deletions."""

from deletions.models.billing import BillingAudit, BillingOutcome
from deletions.models.bucket import BucketDeletionJob, BucketPhase
from deletions.models.deletion import UserDeletion
from deletions.models.status import LIVE, DeletionStatus
from deletions.models.step import SETTLED, Half, StepState, UserDeletionStep

__all__ = [
    "LIVE",
    "SETTLED",
    "BillingAudit",
    "BillingOutcome",
    "BucketDeletionJob",
    "BucketPhase",
    "DeletionStatus",
    "Half",
    "StepState",
    "UserDeletion",
    "UserDeletionStep",
]
