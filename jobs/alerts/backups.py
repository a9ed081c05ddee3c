"""What apps declare so that a backup which is too old, or none at all, is an alert."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class BackupState:
    """The newest backup that was read back, how old it may be, and whether it is wanted."""

    newest_verified_at: dt.datetime | None  # None: there is none
    rpo_hours: float
    is_enabled: bool = True


ReadBackup = Callable[[], BackupState]
_declared: dict[str, ReadBackup] = {}


def declare_backup(subject: str, read: ReadBackup) -> None:
    """
    Watch a backup's age. ``subject`` names its alert, usually the id of the job that makes it.

    ``read`` is called at every evaluation, under a time limit of the database.
    """
    _declared[subject] = read


def withdraw_backup(subject: str) -> None:
    """Watch it no more."""
    _declared.pop(subject, None)


def declared_backups() -> dict[str, ReadBackup]:
    """Return what is declared, by subject."""
    return dict(sorted(_declared.items()))
