"""What was queued as mail, where the package ``emails`` is installed."""

from __future__ import annotations

import importlib
from typing import Any

from django.apps import apps


def assert_mail_queued(**wanted: Any) -> list[Any]:
    """
    Assert that mail was queued; see ``emails.testing.assert_mail_queued``.

    Raises ``LookupError`` where the app ``emails`` is not installed: the engine does without.
    """
    name = apps.get_app_config("emails").name
    found: list[Any] = importlib.import_module(f"{name}.testing").assert_mail_queued(**wanted)
    return found
