"""``/healthz``, ``/readyz`` and ``/jobz``; include them at the root."""

from __future__ import annotations

from django.urls import path

from jobs.health import jobz, views

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("jobz", jobz.jobz, name="jobz"),
]
