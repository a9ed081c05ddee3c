"""The settings of realtime: names, defaults and what is allowed."""

from __future__ import annotations

from typing import Any

from jobs.conf import Setting, Whole
from jobs.errors import SettingError

POLL_MS = Whole(name="REALTIME_POLL_MS", default=2000, minimum=50, maximum=600_000)
LEASE_MS = Whole(name="REALTIME_LEASE_MS", default=60_000, minimum=3000, maximum=3_600_000)
HEARTBEAT_MS = Whole(name="REALTIME_HEARTBEAT_MS", default=20_000, minimum=1, maximum=1_200_000)
CLAIM_BATCH = Whole(name="REALTIME_CLAIM_BATCH", default=50, minimum=1, maximum=1000)
MAX_ATTEMPTS = Whole(name="REALTIME_MAX_ATTEMPTS", default=8, minimum=1, maximum=50)

SETTINGS: tuple[Setting[Any], ...] = (POLL_MS, LEASE_MS, HEARTBEAT_MS, CLAIM_BATCH, MAX_ATTEMPTS)


def check_heartbeat(*, lease_ms: int, heartbeat_ms: int) -> None:
    """Raise SettingError unless two heartbeats can be missed before the lease ends."""
    most = lease_ms // 3
    if heartbeat_ms > most:
        allowed = f"at most {most}, a third of {LEASE_MS.name}={lease_ms}"
        raise SettingError(HEARTBEAT_MS.name, heartbeat_ms, allowed)
