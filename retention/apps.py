"""The retention package as a Django app."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class RetentionConfig(AppConfig):
    name = "retention"
    label = "retention"
    verbose_name = "Retention"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Both need the models, which are there only now.
        from retention import checks
        from retention.configuring import add_rows_after_migrate

        checks.register()
        post_migrate.connect(
            add_rows_after_migrate, sender=self, dispatch_uid="retention.configuring"
        )
