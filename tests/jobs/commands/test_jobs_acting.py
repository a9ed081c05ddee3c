"""``jobs run``, ``pause`` and ``resume``."""

from __future__ import annotations

import pytest

from jobs.models import AuditLog, JobRun, JobState
from tests.factories import UserFactory, WorkerFactory
from tests.jobs.alerting import ORDERS, declared
from tests.jobs.commanding import manage, same_as_snapshot
from tests.jobs.commands.conftest import JOB

pytestmark = pytest.mark.django_db


def test_run_prints_the_runs_id_and_ends_at_once() -> None:
    WorkerFactory()

    ended = manage("jobs", "run", JOB, "--reason", "after the fix")

    run = JobRun.objects.get()
    assert (ended.code, ended.out, ended.err) == (0, f"requested run {run.pk}\n", "")
    assert (run.status, run.trigger, run.reason) == ("requested", "manual", "after the fix")
    assert run.requested_by.startswith("cli:")
    entry = AuditLog.objects.get()
    assert (entry.verb, entry.via, entry.actor) == ("run", "command", run.requested_by)


def test_run_says_when_a_request_waited_already() -> None:
    first = manage("jobs", "run", JOB, "--json").json
    second = manage("jobs", "run", JOB)
    third = manage("jobs", "run", JOB, "--json").json

    assert (first["coalesced"], third["coalesced"]) == (False, True)
    assert third["run_id"] == first["run_id"]
    assert second.code == 0
    assert f"requested run {first['run_id']}, which waited already" in second.out
    assert AuditLog.objects.count() == 1


def test_run_as_json(orders) -> None:
    value = manage("jobs", "run", ORDERS, "--json").json

    run_id = value["run_id"]
    address = f"http://127.0.0.1:8000/admin/jobs/jobrun/{run_id}/change/"
    assert value["admin_url"] == address
    same_as_snapshot("jobs_run", value | {"run_id": 48122, "admin_url": "…"})


def test_run_says_so_when_no_worker_is_alive() -> None:
    ended = manage("jobs", "run", JOB)

    assert ended.code == 0
    assert "No worker is alive" in ended.err
    assert "manage.py runworkers" in ended.err


def test_run_refuses_a_job_that_may_not_be_forced() -> None:
    with declared(manual_run=False):
        ended = manage("jobs", "run", ORDERS)

    assert (ended.code, ended.out) == (1, "")
    assert "may not be run by hand" in ended.err


def test_a_named_user_is_who_acts() -> None:
    anna = UserFactory(username="anna")

    manage("jobs", "pause", JOB, "--user", "anna")

    entry = AuditLog.objects.get()
    assert (entry.actor, entry.actor_id) == ("anna", str(anna.pk))
    assert JobState.objects.get(pk=JOB).paused_by == "anna"


def test_an_unknown_user_is_wrong_usage_and_nothing_happens() -> None:
    ended = manage("jobs", "pause", JOB, "--user", "nobody")

    assert (ended.code, ended.out) == (2, "")
    assert "--user=nobody" in ended.err
    assert not AuditLog.objects.exists()


def test_pause_and_resume_print_a_line_and_say_when_it_was_so_before() -> None:
    said = [manage("jobs", verb, JOB) for verb in ("pause", "pause", "resume", "resume")]

    assert [ended.code for ended in said] == [0, 0, 0, 0]
    assert [len(ended.lines) for ended in said] == [1, 1, 1, 1]
    assert said[0].out.startswith(f"paused {JOB}")
    assert said[1].out == f"{JOB} is paused already\n"
    assert said[2].out.startswith(f"resumed {JOB}")
    assert said[3].out == f"{JOB} is not paused\n"
    assert AuditLog.objects.count() == 2


def test_pause_as_json() -> None:
    same_as_snapshot("jobs_pause", manage("jobs", "pause", JOB, "--json").json | {"admin_url": "…"})
