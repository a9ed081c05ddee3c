"""The email queue's tables."""

from emails.models.channel import EmailChannel, EmailDomain
from emails.models.job import (
    EmailBody,
    EmailJob,
    EmailOutcome,
    EmailStatus,
    RecipientState,
    first_address,
)
from emails.models.suppression import EmailSuppression, SuppressionReason, SuppressionScope

__all__ = [
    "EmailBody",
    "EmailChannel",
    "EmailDomain",
    "EmailJob",
    "EmailOutcome",
    "EmailStatus",
    "EmailSuppression",
    "RecipientState",
    "SuppressionReason",
    "SuppressionScope",
    "first_address",
]
