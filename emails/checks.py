"""What ``manage.py check`` says of the email queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core import checks

from emails import conf
from jobs.checks import out_of_range
from jobs.errors import SettingError


def register() -> None:
    """Register the checks with Django."""
    checks.register(check_delivery)
    checks.register(check_settings)


def check_delivery(**_options: Any) -> Sequence[checks.CheckMessage]:
    """Warn when queued mail goes nowhere (emails.W001)."""
    try:
        if conf.DELIVERY_URL.get():
            return []
    except SettingError:
        return []  # check_settings says so
    return [
        checks.Warning(
            "EMAIL_DELIVERY_URL is not set: mail stays queued.",
            hint="Set it to smtp://…, smtps://…, smtp+tls://…, file:///directory or console:.",
            id="emails.W001",
        )
    ]


def check_settings(**_options: Any) -> Sequence[checks.CheckMessage]:
    """Refuse settings of the queue that are out of range (emails.E001)."""
    return out_of_range((conf.DELIVERY_URL, *conf.SETTINGS), check_id="emails.E001")
