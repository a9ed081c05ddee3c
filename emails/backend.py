"""The Django mail backend that queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

from emails.queue import enqueue_all


class QueueBackend(BaseEmailBackend):
    """
    Queues every mail in the caller's transaction, without a changed line of the caller.

    As ``EMAIL_BACKEND`` (Django 5.2 and 6.0) or as the BACKEND of a ``MAILERS`` alias (6.1).
    A mail that must not be sent is a ValueError here, also under ``fail_silently``, which
    is about delivery.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Queue the messages, or none of them if one is refused; return how many."""
        return enqueue_all(email_messages)
