"""What ``manage.py check`` says of deletions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.utils.module_loading import import_string

from deletions import conf
from deletions.errors import BillingSecretError, StepImportError
from jobs.checks import out_of_range
from jobs.errors import SettingError


def register() -> None:
    """Register the checks with Django."""
    checks.register(check_settings)
    checks.register(check_steps)
    checks.register(check_snapshot)
    checks.register(check_billing)


def check_settings(**_options: Any) -> Sequence[checks.CheckMessage]:
    """Refuse settings that are out of range (deletions.E001)."""
    return out_of_range(conf.SETTINGS, check_id="deletions.E001")


def check_steps(**_options: Any) -> Sequence[checks.CheckMessage]:
    """Refuse dotted paths that lead to no step (deletions.E002)."""
    from deletions.steps import load_steps  # needs the models

    try:
        load_steps()
    except StepImportError as error:
        return [checks.Error(str(error), id="deletions.E002")]
    except SettingError:
        return []  # check_settings says so
    return []


def check_snapshot(**_options: Any) -> Sequence[checks.CheckMessage]:
    """Refuse a snapshot function that cannot be imported (deletions.E003)."""
    try:
        path = conf.SNAPSHOT.get()
    except SettingError:
        return []  # check_settings says so
    problem = _problem_of_function(path) if path else ""
    if not problem:
        return []
    text = f"USER_DELETION_SNAPSHOT={path} cannot be used: {problem}."
    return [checks.Error(text, id="deletions.E003")]


def check_billing(**_options: Any) -> Sequence[checks.CheckMessage]:
    """Refuse a billing service without a secret (deletions.E004)."""
    try:
        if conf.BILLING_URL.get() and not conf.BILLING_SECRET.get():
            return [checks.Error(str(BillingSecretError()), id="deletions.E004")]
    except SettingError:
        return []
    return []


def _problem_of_function(path: str) -> str:
    try:
        return "" if callable(import_string(path)) else "it cannot be called"
    except ImportError as error:
        return str(error)
