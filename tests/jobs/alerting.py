"""What the tests of alerts share: jobs of their own, runs, workers, a webhook that answers."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from django.utils import timezone

from jobs.cadence import Cadence, Cron
from jobs.declarations import JobDeclaration, registry
from jobs.models import Alert, JobRun, JobState, Worker

HOURLY = Cron("0 * * * *")
ORDERS = "shop.orders"


def ago(**units: float) -> dt.datetime:
    return timezone.now() - dt.timedelta(**units)


@contextlib.contextmanager
def declared(job_id: str = ORDERS, *, cadence: Cadence = HOURLY, **fields: Any) -> Iterator[str]:
    """Declare a job, on time as far as its row says, for the length of the block."""
    registry.add(
        JobDeclaration(
            id=job_id,
            summary="Bill the orders.",
            run_once=fields.pop("run_once", lambda context: None),
            owner_file="shop/jobs.py:1",
            read_cadence=fields.pop("read_cadence", lambda: cadence),
            **fields,
        )
    )
    try:
        yield job_id
    finally:
        registry.remove(job_id)


@contextlib.contextmanager
def only_declared(*job_ids: str) -> Iterator[None]:
    """Hide every other declaration: what this project's own jobs do is not asked."""
    hidden = {job.id: job for job in registry if job.id not in job_ids}
    for job_id in hidden:
        registry.remove(job_id)
    try:
        yield
    finally:
        for job in hidden.values():
            registry.add(job)


def on_time(job_id: str = ORDERS, **fields: Any) -> JobState:
    """Write the state row of a job that is next due in half an hour."""
    known = {
        "accounted_until": ago(minutes=30),
        "next_due_at": timezone.now() + dt.timedelta(minutes=30),
        "cadence": "any",
    }
    row, _ = JobState.objects.update_or_create(job_id=job_id, defaults=known | fields)
    return row


def scheduled_run(status: str = "failed", *, job_id: str = ORDERS, **fields: Any) -> JobRun:
    known = {
        "trigger": "schedule",
        "started_at": ago(seconds=2),
        "finished_at": ago(seconds=1),
    }
    return JobRun.objects.create(job_id=job_id, status=status, **(known | fields))


def worker(*, name: str = "web-1:1:aa", heartbeat: dt.datetime | None = None, **fields) -> Worker:
    known = {"host": "web-1", "pid": 1, "started_at": ago(hours=5), "claim_stale_ms": 300_000}
    row = Worker.objects.create(name=name, **(known | fields))
    # A worker is said to have started long ago: that column has a default of the database.
    Worker.objects.filter(pk=name).update(
        started_at=fields.get("started_at", ago(hours=5)), heartbeat_at=heartbeat or timezone.now()
    )
    return row


def open_alerts() -> list[tuple[str, str]]:
    rows = Alert.objects.filter(resolved_at=None).order_by("rule", "subject")
    return list(rows.values_list("rule", "subject"))


class Webhook:
    """A real HTTP server that keeps what is posted to it, and answers with a status."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.status = 204
        self.location = ""
        self.release = threading.Event()
        self.release.set()
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.received.append(json.loads(body))
                hook.release.wait(20)
                self.send_response(hook.status)
                if hook.location:
                    self.send_header("Location", hook.location)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self) -> None:
                hook.received.append({"method": "GET"})
                self.send_response(200)
                self.end_headers()

            def log_message(self, *args: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/hook"

    def close(self) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
