"""``/healthz`` and ``/readyz``; include them at the root."""

from __future__ import annotations

from django.urls import path

from jobs.health import views

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
]
