"""The email queue's tables."""

from emails.models.job import EmailBody, EmailJob, EmailOutcome, EmailStatus, RecipientState

__all__ = ["EmailBody", "EmailJob", "EmailOutcome", "EmailStatus", "RecipientState"]
