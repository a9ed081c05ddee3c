"""``manage.py jobs``: the inventory, the ledger, and what acts on them."""

from __future__ import annotations

import datetime as dt
import io

import pytest

from jobs.cadence import Cron
from jobs.models import AuditLog, JobRun, JobState
from jobs.testing import database_clock
from tests.factories import ActivityLogFactory, JobRunFactory, UserFactory, WorkerFactory
from tests.jobs.alerting import ORDERS, declared, only_declared
from tests.jobs.commanding import Terminal, manage, same_as_snapshot

JOB = "testapp.stocktaking"
NOW = dt.datetime(2026, 10, 23, 12, tzinfo=dt.UTC)
# In the night of the second next run the clocks go back.
NIGHTLY = Cron("30 2 * * *", zone="Europe/Berlin")
pytestmark = pytest.mark.django_db


@pytest.fixture
def orders():
    """A nightly job of its own that failed last night, at a time that stands still."""
    with only_declared(), declared(cadence=NIGHTLY), database_clock(NOW):
        JobState.objects.create(
            job_id=ORDERS,
            cadence="any",
            first_seen_at=NOW - dt.timedelta(days=9),
            accounted_until=NOW - dt.timedelta(hours=12),
            next_due_at=dt.datetime(2026, 10, 24, 0, 30, tzinfo=dt.UTC),
        )
        yield ORDERS


@pytest.fixture
def failed_run(orders) -> JobRun:
    at = NOW - dt.timedelta(hours=11, minutes=30)
    return JobRunFactory(
        id=48121,
        job_id=ORDERS,
        failed=True,
        scheduled_for=at,
        created_at=at,
        started_at=at,
        finished_at=at + dt.timedelta(seconds=7.5),
    )


# --- looking


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


def test_runs_are_newest_first_and_narrowed_by_each_option(orders) -> None:
    old = JobRunFactory(job_id=ORDERS, created_at=NOW - dt.timedelta(days=3))
    failed = JobRunFactory(job_id=ORDERS, failed=True, created_at=NOW - dt.timedelta(hours=3))
    by_hand = JobRunFactory(job_id=ORDERS, trigger="manual", created_at=NOW)
    other = JobRunFactory(job_id="shop.gone", created_at=NOW)

    def ids(*arguments: str) -> list[int]:
        return [item["id"] for item in manage("jobs", "runs", *arguments, "--json").json["items"]]

    assert ids() == [other.pk, by_hand.pk, failed.pk, old.pk]
    assert ids("--job", ORDERS) == [by_hand.pk, failed.pk, old.pk]
    assert ids("--status", "failed") == [failed.pk]
    assert ids("--trigger", "manual") == [by_hand.pk]
    assert ids("--since", "24h", "--job", ORDERS) == [by_hand.pk, failed.pk]
    assert ids("--since", "2026-10-23T11:00:00Z", "--job", ORDERS) == [by_hand.pk]


def test_runs_come_in_pages(orders) -> None:
    runs = [JobRunFactory(job_id=ORDERS) for _ in range(3)]

    first = manage("jobs", "runs", "--limit", 2, "--json").json
    second = manage("jobs", "runs", "--before", first["next_before_id"], "--json").json
    table = manage("jobs", "runs", "--limit", 2)

    assert [item["id"] for item in first["items"]] == [runs[2].pk, runs[1].pk]
    assert [item["id"] for item in second["items"]] == [runs[0].pk]
    assert second["next_before_id"] is None
    assert len(table.lines) == 3
    assert f"--before {runs[1].pk}" in table.err


def test_runs_as_json(failed_run) -> None:
    same_as_snapshot("jobs_runs", manage("jobs", "runs", "--json").json)


def test_without_runs_nothing_is_printed_but_a_notice(orders) -> None:
    ended = manage("jobs", "runs", "--status", "lost")

    assert (ended.code, ended.out) == (0, "")
    assert "no such runs" in ended.err


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--since", "24x"),
        ("--since", "yesterday"),
        ("--status", "broken"),
        ("--trigger", "cron"),
        ("--limit", "0"),
        ("--limit", "201"),
        ("--before", "-1"),
    ],
)
def test_a_wrong_option_is_refused_by_its_name_with_exit_code_2(option, value) -> None:
    ended = manage("jobs", "runs", f"{option}={value}")

    assert (ended.code, ended.out) == (2, "")
    assert option in ended.err
    assert value in ended.err


def test_a_command_needs_a_subcommand() -> None:
    assert manage("jobs").code == 2


def test_run_log_prints_what_the_run_logged_in_order(failed_run) -> None:
    for message in ("began", "stopped at row 7\x1b[2J"):
        ActivityLogFactory(run_id=failed_run.pk, job_id=ORDERS, message=message)
    ActivityLogFactory(run_id=failed_run.pk + 1, message="of another run")

    ended = manage("jobs", "run-log", failed_run.pk)

    assert [line.split("info")[1].strip() for line in ended.lines] == [
        "began",
        "stopped at row 7\ufffd[2J",
    ]
    assert "failed in 7.5 s: ValueError: no such mail" in ended.err
    items = manage("jobs", "run-log", failed_run.pk, "--json").json["items"]
    assert [item["message"] for item in items] == ["stopped at row 7\x1b[2J", "began"]


def test_run_log_stdout_is_what_the_run_printed_and_nothing_else(failed_run) -> None:
    JobRun.objects.filter(pk=failed_run.pk).update(stdout="one\n\x1b[1mtwo")

    assert manage("jobs", "run-log", failed_run.pk, "--stdout").out == "one\n\x1b[1mtwo"
    shown = manage("jobs", "run-log", failed_run.pk, "--stdout", terminal=True)
    assert shown.out == "one\n\ufffd[1mtwo"
    value = manage("jobs", "run-log", failed_run.pk, "--stdout", "--json").json
    assert (value["id"], value["stdout"]) == (failed_run.pk, "one\n\x1b[1mtwo")


def test_run_log_follow_of_a_run_that_has_ended_ends_too(failed_run) -> None:
    ActivityLogFactory(run_id=failed_run.pk, message="began")

    ended = manage("jobs", "run-log", failed_run.pk, "--follow")

    assert len(ended.lines) == 1


# --- acting


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
