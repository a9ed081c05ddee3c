"""The email queue's pages in the Django admin."""

from emails.admin.delivery import EmailChannelAdmin, EmailDomainAdmin
from emails.admin.mail import EmailJobAdmin
from emails.admin.suppressions import EmailSuppressionAdmin

__all__ = ["EmailChannelAdmin", "EmailDomainAdmin", "EmailJobAdmin", "EmailSuppressionAdmin"]
