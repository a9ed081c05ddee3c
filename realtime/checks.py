"""What ``manage.py check`` says of realtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core import checks

from jobs.checks import out_of_range
from jobs.errors import SettingError
from realtime import conf


def register() -> None:
    """Register the checks with Django."""
    checks.register(check_settings)
    checks.register(check_heartbeat)


def check_settings(**_options: Any) -> Sequence[checks.CheckMessage]:
    """Refuse settings that are out of range (realtime.E001)."""
    return out_of_range(conf.SETTINGS, check_id="realtime.E001")


def check_heartbeat(**_options: Any) -> Sequence[checks.CheckMessage]:
    """Refuse a heartbeat of more than a third of its lease (realtime.E002)."""
    try:
        lease_ms, heartbeat_ms = conf.LEASE_MS.get(), conf.HEARTBEAT_MS.get()
    except SettingError:
        return []  # check_settings says so
    try:
        conf.check_heartbeat(lease_ms=lease_ms, heartbeat_ms=heartbeat_ms)
    except SettingError as error:
        return [checks.Error(str(error), id="realtime.E002")]
    return []
