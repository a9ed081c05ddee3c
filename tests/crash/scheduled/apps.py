"""The app, and what it changes in the engine of a worker under test."""

from __future__ import annotations

import datetime as dt
import os
import signal
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.db import connection
from django.db.models.signals import post_save


class ScheduledConfig(AppConfig):
    name = "tests.crash.scheduled"
    label = "scheduled"

    def ready(self) -> None:
        from jobs.models import JobRun
        from jobs.workers import conductor

        post_save.connect(fail_in_the_transaction, sender=JobRun)
        conductor.LOOK_SECONDS = float(os.environ.get("LOOK_SECONDS") or conductor.LOOK_SECONDS)
        # The workers are forks of a process that is ready by now.
        os.register_at_fork(after_in_child=set_clock)


def wish(name: str) -> Path:
    """Return a file by which a test asks for something."""
    return Path(os.environ["ENGINEROOM_VAR"]) / name


def fail_in_the_transaction(instance: Any, *, created: bool, **_: Any) -> None:
    """Die, or lose the connection, where a test asks for it: the run is not committed yet."""
    if created and instance.scheduled_for and wish("die").exists():
        wish("die").unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    if created and instance.scheduled_for and wish("cut").exists():
        wish("cut").unlink()
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


def set_clock() -> None:
    """Stop the database's clock where a test has set it."""
    from jobs import clock

    if wish("clock").exists():
        clock.freeze(dt.datetime.fromisoformat(wish("clock").read_text()))
