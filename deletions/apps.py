"""The deletions as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class DeletionsConfig(AppConfig):
    name = "deletions"
    label = "deletions"
    verbose_name = "Deletions"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from deletions import checks  # reads settings that need not be there at import

        checks.register()
