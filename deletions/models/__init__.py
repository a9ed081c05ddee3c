"""The tables of deletions."""

from deletions.models.billing import BillingAudit, BillingOutcome
from deletions.models.deletion import LIVE, DeletionStatus, UserDeletion
from deletions.models.step import SETTLED, Half, StepState, UserDeletionStep

__all__ = [
    "LIVE",
    "SETTLED",
    "BillingAudit",
    "BillingOutcome",
    "DeletionStatus",
    "Half",
    "StepState",
    "UserDeletion",
    "UserDeletionStep",
]
