"""
Begins and ends of runs, published to those who watch.

The topic is open to staff who may see runs. Nothing is written while nobody watches, and
the runs of this package are left out: to deliver an event is a run too, whose end would be
an event, and so on for ever.
"""

from __future__ import annotations

import time
from typing import Any

from jobs.clock import Now
from jobs.signals import run_finished, run_started
from realtime.models import RealtimeSession
from realtime.publishing import publish
from realtime.topics import declare_topic

TOPIC = "jobs.runs"
PERMISSION = "jobs.view_jobrun"
OWN = "realtime."
# How long the answer whether somebody watches is good for.
KEEP_SECONDS = 2.0


class Watch:
    """Knows whether anybody watches, and asks not more often than it must."""

    def __init__(self) -> None:
        self._asked_at = float("-inf")
        self._answer = False

    def is_watched(self) -> bool:
        """Say whether a living session is on the topic."""
        if time.monotonic() - self._asked_at >= KEEP_SECONDS:
            watching = RealtimeSession.objects.filter(topics__contains=[TOPIC])
            self._answer = watching.filter(expires_at__gt=Now()).exists()
            self._asked_at = time.monotonic()
        return self._answer


_watch = Watch()


def may_watch(user: Any) -> bool:
    """Say whether a user may see runs come and go."""
    return bool(user.is_staff and user.has_perm(PERMISSION))


def connect() -> None:
    """Declare the topic and follow the engine's signals."""
    declare_topic(TOPIC, readable_by=may_watch)
    run_started.connect(_on_started, dispatch_uid="realtime.live.started")
    run_finished.connect(_on_finished, dispatch_uid="realtime.live.finished")


def _on_started(*, job_id: str, run_id: int, **_: Any) -> None:
    _tell("started", job_id, run_id, "running")


def _on_finished(*, job_id: str, run_id: int, status: str, **_: Any) -> None:
    _tell("finished", job_id, run_id, status)


def _tell(event: str, job_id: str, run_id: int, status: str) -> None:
    if job_id.startswith(OWN) or not _watch.is_watched():
        return
    publish(
        TOPIC,
        event=event,
        payload={"job_id": job_id, "run_id": run_id, "status": str(status)},
        audience={"mode": "all"},
        ordering_key=f"run:{run_id}",
    )
