"""The settings of deletions: names, defaults and what is allowed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.apps import apps

from jobs.conf import BACKUP_DIR, Setting, Text, WebUrl, Whole
from jobs.errors import SettingError

DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")
PROOF_FILE = "deletions.jsonl"


@dataclass(frozen=True, kw_only=True)
class DottedPath(Setting[str]):
    """The dotted path of something importable; empty where the default is empty."""

    allowed = "a dotted path, such as shop.erasure.snapshot"

    def check(self, value: Any) -> str:
        if value != self.default and not (isinstance(value, str) and DOTTED.fullmatch(value)):
            raise SettingError(self.name, value, self.allowed)
        return str(value)

    def parse(self, text: str) -> str:
        return self.check(text.strip())


@dataclass(frozen=True, kw_only=True)
class DottedPaths(Setting[tuple[str, ...]]):
    """Dotted paths of classes, each once; separated by commas in the environment."""

    allowed = "dotted paths of classes, each once, separated by commas"

    def check(self, value: Any) -> tuple[str, ...]:
        items = tuple(value) if isinstance(value, (list, tuple)) else ("",)
        fits = all(isinstance(item, str) and DOTTED.fullmatch(item) for item in items)
        if not fits or len(set(items)) < len(items):
            raise SettingError(self.name, value, self.allowed)
        return items

    def parse(self, text: str) -> tuple[str, ...]:
        try:
            return self.check([item.strip() for item in text.split(",")])
        except SettingError:
            raise SettingError(self.name, text, self.allowed) from None


# Steps of apps that are not installed are left out of the default.
STEPS_THAT_SHIP = (
    "deletions.access.Deactivate",
    "deletions.access.RevokeSessions",
    "deletions.billing.CancelBilling",
    "deletions.buckets.step.DeleteBuckets",
    "emails.erasure_step.EraseMail",
    "deletions.local.DeleteLocalRows",
)

POLL_MS = Whole(name="USER_DELETION_POLL_MS", default=60_000, minimum=100, maximum=3_600_000)
MAX_ATTEMPTS = Whole(name="USER_DELETION_MAX_ATTEMPTS", default=5, minimum=1, maximum=50)
STEPS = DottedPaths(name="USER_DELETION_STEPS", default=STEPS_THAT_SHIP)
SNAPSHOT = DottedPath(name="USER_DELETION_SNAPSHOT", default="")
BUCKET_POLL_MS = Whole(
    name="BUCKET_DELETION_POLL_MS", default=10_000, minimum=100, maximum=3_600_000
)
BUCKET_CONCURRENCY = Whole(name="BUCKET_DELETION_CONCURRENCY", default=2, minimum=1, maximum=32)
BUCKET_LEASE_MS = Whole(
    name="BUCKET_DELETION_LEASE_MS", default=60_000, minimum=3000, maximum=3_600_000
)
BUCKET_MAX_ATTEMPTS = Whole(name="BUCKET_DELETION_MAX_ATTEMPTS", default=8, minimum=1, maximum=50)
BILLING_URL = WebUrl(name="BILLING_URL", default="")
BILLING_SECRET = Text(name="BILLING_SECRET", default="")
BILLING_AUDIT_DAYS = Whole(name="BILLING_AUDIT_DAYS", default=365, minimum=0, maximum=3650)

SETTINGS: tuple[Setting[Any], ...] = (
    POLL_MS,
    MAX_ATTEMPTS,
    STEPS,
    SNAPSHOT,
    BUCKET_POLL_MS,
    BUCKET_CONCURRENCY,
    BUCKET_LEASE_MS,
    BUCKET_MAX_ATTEMPTS,
    BILLING_URL,
    BILLING_SECRET,
    BILLING_AUDIT_DAYS,
)


def step_paths() -> tuple[str, ...]:
    """Return the dotted paths of the steps, in order within their halves."""
    paths = STEPS.get()
    if paths != STEPS_THAT_SHIP:
        return paths
    return tuple(path for path in paths if apps.is_installed(path.partition(".")[0]))


def proof_path() -> Path:
    """Return where finished deletions are written beside the backups."""
    return Path(BACKUP_DIR.get()).absolute() / PROOF_FILE
