"""The realtime package as a Django app."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class RealtimeConfig(AppConfig):
    name = "realtime"
    label = "realtime"
    verbose_name = "Realtime"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Every app declares the models that publish their changes in a module of this name.
        autodiscover_modules("realtime")
        from realtime import checks  # reads settings that need not be there at import
        from realtime.live import runs

        checks.register()
        runs.connect()
