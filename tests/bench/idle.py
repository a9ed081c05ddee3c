"""What ``runworkers`` with all jobs of this site costs when there is nothing to do."""

from __future__ import annotations

import time

import psutil

from tests.bench import database
from tests.bench.workers import workers

SETTLING_SECONDS = 5.0


def idle(*, seconds: float) -> dict[str, float]:
    """Return the share of a core in per cent, and the resident memory in MB."""
    database.empty()
    with workers(1) as processes:
        process = psutil.Process(processes[0].pid)
        time.sleep(SETTLING_SECONDS)
        before = _cpu_seconds(process)
        time.sleep(seconds)
        used = _cpu_seconds(process) - before
        return {
            "idle_cpu_percent": 100 * used / seconds,
            "rss_mb": process.memory_info().rss / 1_000_000,
        }


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system
