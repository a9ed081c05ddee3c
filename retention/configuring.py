"""
The days of each target: the row that an operator edits.

A target without a row, or without days, is kept for ever: nothing is deleted because an app
was installed.
"""

from __future__ import annotations

from typing import Any

from django.db import connections, router

from jobs.pruning import targets
from retention.models import TargetConfig


def add_rows() -> None:
    """Write a row for each declared target that has none; those that are there stay."""
    rows = [TargetConfig(name=target.name) for target in targets]
    TargetConfig.objects.bulk_create(rows, ignore_conflicts=True)


def add_rows_after_migrate(*, using: str, **_signal: Any) -> None:
    """Do so at the end of ``migrate``, unless it has just taken the table away."""
    if not router.allow_migrate_model(using, TargetConfig):
        return
    if TargetConfig._meta.db_table in connections[using].introspection.table_names():
        add_rows()
