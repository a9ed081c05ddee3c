"""The settings of retention: names, defaults and what is allowed."""

from __future__ import annotations

from typing import Any

from jobs.conf import Setting, Whole

BATCH = Whole(name="RETENTION_BATCH", default=2000, minimum=1, maximum=50_000)
MAX_BATCHES = Whole(name="RETENTION_MAX_BATCHES", default=50, minimum=1, maximum=100_000)
MAX_SECONDS = Whole(name="RETENTION_MAX_SECONDS", default=600, minimum=1, maximum=86_400)
PAUSE_MS = Whole(name="RETENTION_PAUSE_MS", default=50, minimum=0, maximum=10_000)

SETTINGS: tuple[Setting[Any], ...] = (BATCH, MAX_BATCHES, MAX_SECONDS, PAUSE_MS)
