"""Sign-in links as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class SigninConfig(AppConfig):
    name = "jobs.signin"
    label = "jobs_signin"
    verbose_name = "Sign-in links"
    default_auto_field = "django.db.models.BigAutoField"
