"""A singleton's run in the process of a command."""

from __future__ import annotations

import dataclasses
import os
import signal

import pytest

from jobs.declarations import registry
from jobs.errors import AlreadyRunningError
from jobs.foreground import run_in_foreground
from jobs.ledger import open_runs
from jobs.models import AuditLog, JobRun
from jobs.models.audit import Via
from jobs.output.actors import command_actor
from jobs.requests import request_run, take_requests
from tests.conftest import wait_until
from tests.factories import JobRunFactory

pytestmark = pytest.mark.django_db(transaction=True)
JOB = "testapp.stocktaking"


def run(work) -> JobRun:
    declaration = dataclasses.replace(registry.get(JOB), run_once=work)
    return run_in_foreground(
        declaration, actor=command_actor(None), via=Via.COMMAND, reason="now, please"
    )


def test_it_is_recorded_as_run_by_hand_and_audited() -> None:
    found = run(lambda context: {"shelves": 3})

    assert (found.status, found.trigger, found.output, found.reason) == (
        "succeeded", "manual", {"shelves": 3}, "now, please",
    )  # fmt: skip
    assert found.requested_by.startswith("cli:")
    assert AuditLog.objects.get().detail == {"run_id": found.pk}
    assert found.pk not in open_runs.runs


def test_while_it_goes_on_no_worker_begins_another_and_its_lease_moves_on(settings) -> None:
    settings.JOB_LEASE_MS = 3000
    seen = {}

    def work(context) -> None:
        request_run(JOB, requested_by="anna")
        seen["taken"] = take_requests([JOB], singletons=[JOB], limit=1)
        mine = JobRun.objects.filter(pk=context.run_id)
        first = mine.get().lease_expires_at
        wait_until(lambda: mine.get().lease_expires_at > first, what="the lease moves on")
        with pytest.raises(AlreadyRunningError, match=f"Run {context.run_id} of {JOB} goes on"):
            run(lambda _: None)

    assert run(work).status == "succeeded"
    assert seen["taken"] == []


def test_a_run_whose_worker_died_is_no_hindrance() -> None:
    dead = JobRunFactory(job_id=JOB, running=True, lease_expires_at="2026-01-01T00:00Z")

    assert run(lambda context: None).status == "succeeded"
    dead.refresh_from_db()
    assert dead.status == "lost"


def test_sigterm_asks_it_to_stop_and_is_nobody_elses_afterwards() -> None:
    before = signal.getsignal(signal.SIGTERM)

    def work(context) -> dict[str, bool]:
        os.kill(os.getpid(), signal.SIGTERM)
        return {"stopped": context.stop.wait(10)}

    assert run(work).output == {"stopped": True}
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_it_raises_is_in_its_row() -> None:
    found = run(lambda context: 1 / 0)

    assert found.status == "failed"
    assert "ZeroDivisionError" in found.error
