"""The retention package as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class RetentionConfig(AppConfig):
    name = "retention"
    label = "retention"
    verbose_name = "Retention"
    default_auto_field = "django.db.models.BigAutoField"
