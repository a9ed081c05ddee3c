"""The email queue as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class EmailsConfig(AppConfig):
    name = "emails"
    label = "emails"
    verbose_name = "Emails"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from emails import checks  # reads settings that need not be there at import

        checks.register()
