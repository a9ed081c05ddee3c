"""The process's own row in ``workers``."""

from __future__ import annotations

import os
import socket
from importlib import metadata
from typing import Any

from jobs import conf
from jobs.clock import ClockTime, ago
from jobs.identity import process_name
from jobs.models import Worker
from jobs.transactions import short_transaction

DAY_MS = 86_400_000


def report_worker(fields: dict[str, Any]) -> None:
    """Write the heartbeat and what the process says of itself; insert the row if it has gone."""
    with short_transaction("default"):
        mine = Worker.objects.filter(pk=process_name())
        if not mine.update(heartbeat_at=ClockTime(), **fields):
            Worker.objects.create(name=process_name(), **_identity(), **fields)


def sign_off_worker() -> None:
    """Say that this process has ended on purpose."""
    with short_transaction("default"):
        Worker.objects.filter(pk=process_name()).update(
            stopped_at=ClockTime(), heartbeat_at=ClockTime(), claims_held=0
        )


def remove_dead_workers() -> None:
    """Remove rows whose last heartbeat is over a day old."""
    with short_transaction("default"):
        Worker.objects.filter(heartbeat_at__lt=ago(DAY_MS)).delete()


def _identity() -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "version": version(),
        "claim_stale_ms": conf.CLAIM_STALE_MS.get(),
    }


def version() -> str:
    """Return the installed version, or the one of the checkout."""
    try:
        return metadata.version("engineroom")
    except metadata.PackageNotFoundError:
        return "checkout"
