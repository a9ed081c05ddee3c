"""The email queue's pages in the Django admin."""

from emails.admin.mail import EmailJobAdmin

__all__ = ["EmailJobAdmin"]
