"""The realtime package as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class RealtimeConfig(AppConfig):
    name = "realtime"
    label = "realtime"
    verbose_name = "Realtime"
    default_auto_field = "django.db.models.BigAutoField"
