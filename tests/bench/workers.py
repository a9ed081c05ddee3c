"""Real ``runworkers`` processes."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator

from django.conf import settings

from tests.bench.database import value

READY_SECONDS = 60.0


@contextlib.contextmanager
def workers(count: int, *only: str, **environment: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run so many processes, ready and listening, until the end of the block."""
    import os

    command = [sys.executable, "manage.py", "runworkers", *(("--only", *only) if only else ())]
    processes = [
        subprocess.Popen(
            command,
            cwd=settings.BASE_DIR,
            env=os.environ | environment,
            stdout=subprocess.DEVNULL,
        )
        for _ in range(count)
    ]
    try:
        wait_until(lambda: _listening() >= count, seconds=READY_SECONDS)
        time.sleep(1.0)  # the echo of the listener's probe makes every loop look once
        yield processes
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(60)


def wait_until(condition: object, *, seconds: float) -> None:
    """Poll until it holds; raise TimeoutError when it does not within the limit."""
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"did not happen within {seconds:g} s")
        time.sleep(0.05)


def _listening() -> int:
    return int(
        value(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE application_name = 'engineroom-listen' AND query LIKE 'LISTEN%%'"
        )
    )
