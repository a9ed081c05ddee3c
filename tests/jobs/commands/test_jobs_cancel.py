"""``jobs cancel``."""

from __future__ import annotations

import io

import pytest

from jobs.models import AuditLog
from tests.factories import JobRunFactory
from tests.jobs.commanding import Terminal, manage
from tests.jobs.commands.conftest import JOB

pytestmark = pytest.mark.django_db


def test_cancel_without_a_terminal_needs_yes(monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    run = JobRunFactory(job_id=JOB, running=True)

    refused = manage("jobs", "cancel", run.pk)
    accepted = manage("jobs", "cancel", run.pk, "--yes", "--reason", "too slow")

    assert (refused.code, refused.out) == (2, "")
    assert "--yes" in refused.err
    assert accepted.code == 0
    assert accepted.out.startswith(f"asked run {run.pk} of {JOB} to end")
    run.refresh_from_db()
    assert run.cancel_requested_at is not None
    assert AuditLog.objects.get().reason == "too slow"


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("yes", 0), ("n", 1), ("", 1)])
def test_cancel_asks_on_a_terminal(monkeypatch, answer, code) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))
    run = JobRunFactory(job_id=JOB, running=True)

    ended = manage("jobs", "cancel", run.pk)

    assert ended.code == code
    assert f"Cancel run {run.pk} of {JOB} (running for" in ended.err
    run.refresh_from_db()
    assert (run.cancel_requested_at is not None) is (code == 0)


def test_cancel_dry_run_changes_nothing() -> None:
    run = JobRunFactory(job_id=JOB, running=True, progress_done=3, progress_total=10)

    ended = manage("jobs", "cancel", JOB, "--dry-run")
    value = manage("jobs", "cancel", JOB, "--dry-run", "--json").json

    assert ended.code == 0
    assert ended.out.startswith(f"would cancel run {run.pk} of {JOB}")
    assert "3 of 10" in ended.out
    assert (value["run_id"], value["dry_run"]) == (run.pk, True)
    run.refresh_from_db()
    assert run.cancel_requested_at is None
    assert not AuditLog.objects.exists()


def test_cancel_by_the_jobs_id_takes_what_runs_before_what_waits() -> None:
    JobRunFactory(job_id=JOB, status="requested", trigger="manual", started_at=None)
    running = JobRunFactory(job_id=JOB, running=True)

    assert manage("jobs", "cancel", JOB, "--yes", "--json").json["run_id"] == running.pk


def test_cancel_says_when_nothing_runs_and_when_several_do() -> None:
    nothing = manage("jobs", "cancel", JOB, "--yes")
    runs = [JobRunFactory(job_id=JOB, running=True) for _ in range(2)]
    several = manage("jobs", "cancel", JOB, "--yes")

    assert nothing.code == several.code == 1
    assert f"No run of {JOB}" in nothing.err
    assert f"{runs[1].pk}, {runs[0].pk}" in several.err


def test_cancel_a_second_time_says_so_without_asking() -> None:
    run = JobRunFactory(job_id=JOB, status="requested", started_at=None)

    first = manage("jobs", "cancel", run.pk, "--yes")
    second = manage("jobs", "cancel", run.pk)

    assert first.out == f"cancelled run {run.pk} of {JOB}\n"
    assert (second.code, second.out) == (0, f"run {run.pk} of {JOB} is cancelled already\n")


def test_cancel_of_a_run_that_has_ended_is_refused(failed_run) -> None:
    ended = manage("jobs", "cancel", failed_run.pk, "--yes")

    assert ended.code == 1
    assert "has ended (failed)" in ended.err
