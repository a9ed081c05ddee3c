"""``jobs list`` and ``jobs show``."""

from __future__ import annotations

import pytest

from tests.factories import JobRunFactory, WorkerFactory
from tests.jobs.alerting import ORDERS
from tests.jobs.commanding import manage, same_as_snapshot
from tests.jobs.commands.conftest import JOB, NOW

pytestmark = pytest.mark.django_db


def test_list_has_a_line_per_job_with_health_cadence_last_and_next(failed_run) -> None:
    ended = manage("jobs", "list")

    header, line = ended.lines
    assert ended.code == 0
    assert header.split() == ["JOB", "HEALTH", "CADENCE", "LAST", "NEXT", "MANUAL", "PAGE"]
    assert line.startswith("shop.orders")
    assert "30 2 * * * Europe/Berlin code" in line
    assert "failed 00:30:00 UTC · 11 h ago" in line


def test_list_says_when_no_worker_is_alive(orders) -> None:
    before = manage("jobs", "list")
    WorkerFactory(heartbeat_at=NOW)
    after = manage("jobs", "list")

    assert "manage.py runworkers" in before.err
    assert after.err == ""


def test_list_as_json(failed_run) -> None:
    same_as_snapshot("jobs_list", manage("jobs", "list", "--json").json)


def test_list_is_cut_to_the_terminal(failed_run, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "90")

    ended = manage("jobs", "list", "--no-color", terminal=True)

    assert max(len(line) for line in ended.lines) <= 90
    assert "…" in ended.lines[1]


def test_show_says_the_next_five_fire_times_in_both_zones_and_marks_the_change(orders) -> None:
    ended = manage("jobs", "show", ORDERS)

    assert ended.code == 0
    start = ended.lines.index(next(line for line in ended.lines if line.startswith("NEXT, UTC")))
    fires = ended.lines[start + 1 : start + 6]
    assert fires[0].split("  ")[:2] == ["2026-10-24 00:30:00", "2026-10-24 02:30:00+02:00"]
    assert fires[1].startswith("2026-10-25 00:30:00  2026-10-25 02:30:00+02:00")
    assert "overlap" in fires[1]
    assert fires[2].startswith("2026-10-26 01:30:00  2026-10-26 02:30:00+01:00")
    assert "overlap" not in "".join(fires[2:])
    assert "what it does  Bill the orders." in ended.lines


def test_show_lists_the_actions_on_the_job(orders) -> None:
    manage("jobs", "pause", ORDERS, "--reason", "the disk is full")

    ended = manage("jobs", "show", ORDERS)

    assert "the disk is full" in next(line for line in ended.lines if line.startswith("paused"))
    assert any("pause" in line and "cli:" in line for line in ended.lines[-2:])


def test_show_lists_the_actions_on_its_runs(orders) -> None:
    run = JobRunFactory(job_id=ORDERS, running=True)
    manage("jobs", "cancel", run.pk, "--yes", "--reason", "too slow")

    last = manage("jobs", "show", ORDERS).lines[-1]

    assert f"cancel  job_runs {run.pk}" in last
    assert last.endswith("too slow")


def test_show_as_json(failed_run) -> None:
    same_as_snapshot("jobs_show", manage("jobs", "show", ORDERS, "--json").json)


def test_show_with_a_number_is_the_page_of_a_run(failed_run) -> None:
    ended = manage("jobs", "show", failed_run.pk)

    assert ended.code == 0
    assert ended.lines[0].split() == ["run", "48121"]
    assert "ValueError: no such mail" in ended.lines
    assert manage("jobs", "show", failed_run.pk, "--json").json["error"] == failed_run.error


def test_show_of_a_job_that_only_the_ledger_knows_is_its_runs(failed_run) -> None:
    JobRunFactory(job_id="shop.gone")

    ended = manage("jobs", "show", "shop.gone")

    assert ended.code == 0
    assert "shop.gone" in ended.lines[1]


@pytest.mark.parametrize(
    "arguments", [("show",), ("run",), ("pause",), ("resume",), ("cancel",), ("runs", "--job")]
)
def test_an_unknown_job_is_refused_with_the_nearest_id(arguments) -> None:
    ended = manage("jobs", *arguments, "testapp.stoktaking")

    assert (ended.code, ended.out) == (2, "")
    assert f"did you mean {JOB}?" in ended.err


@pytest.mark.parametrize("arguments", [("show",), ("run-log",), ("cancel",)])
def test_a_run_that_is_not_there_is_a_problem(arguments) -> None:
    ended = manage("jobs", *arguments, "999999")

    assert (ended.code, ended.out) == (1, "")
    assert "no run 999999" in ended.err


def test_a_command_needs_a_subcommand() -> None:
    assert manage("jobs").code == 2
