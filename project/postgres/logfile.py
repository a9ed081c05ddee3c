"""The server's log, kept from growing without end."""

from __future__ import annotations

import os
import shutil

from project.postgres.places import Places, writing

LOG_BYTES = 10 * 1024 * 1024


def keep_log_small(places: Places, *, limit_bytes: int = LOG_BYTES) -> None:
    """Move a log over the limit to `postgres.log.1`; call it under the mutex.

    The server appends, so it goes on at the start of the emptied file; lines written
    between the copy and the cut are lost.
    """
    log = places.log
    if not log.exists() or log.stat().st_size <= limit_bytes:
        return
    with writing(log):
        shutil.copy2(log, log.with_name(f"{log.name}.1"))
        os.truncate(log, 0)
