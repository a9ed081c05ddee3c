from __future__ import annotations

from django.apps import AppConfig


class NoopConfig(AppConfig):
    name = "tests.bench.noop"
    label = "bench_noop"
    default_auto_field = "django.db.models.BigAutoField"
