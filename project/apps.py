"""This site as an app, for its own commands."""

from __future__ import annotations

from django.apps import AppConfig


class ProjectConfig(AppConfig):
    name = "project"
    label = "engineroom_project"
