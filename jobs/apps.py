"""The engine as a Django app."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class JobsConfig(AppConfig):
    name = "jobs"
    label = "jobs"
    verbose_name = "Background work"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Every app declares its jobs and what may be deleted when it is old in modules of
        # these names; nothing is started here.
        autodiscover_modules("jobs")
        autodiscover_modules("retention")
        # Both need the models, which are there only now.
        from jobs import checks
        from jobs.alerts.hooks import on_run_finished
        from jobs.signals import run_finished

        checks.register()
        run_finished.connect(on_run_finished, dispatch_uid="jobs.alerts")
