"""Mails of these tests."""

from __future__ import annotations

from django.core.mail import EmailMessage


def message(*recipients: str) -> EmailMessage:
    """Return a mail to these addresses, whose local parts say how the server treats them."""
    return EmailMessage("An order", "On its way.", "shop@example.com", list(recipients))
