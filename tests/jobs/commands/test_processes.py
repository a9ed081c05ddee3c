"""Commands as a shell runs them: in processes of their own, with real workers."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import BinaryIO

import pytest
from django.db import connection

from jobs.models import JobRun
from tests.conftest import wait_until
from tests.crash.harness import ROOT, Fleet, url_of
from tests.factories import ActivityLogFactory, JobRunFactory

JOB = "testapp.stocktaking"
NOWHERE = "postgres://me:hunter2@127.0.0.1:1/shop"
SECONDS = 50
# Several processes start in one test, on machines that do other things too.
pytestmark = [pytest.mark.timeout(180), pytest.mark.crash]
# A shell that runs the tests in the background has Ctrl-C ignored; a person's has not.
LAUNCH = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from project.entry import run
sys.exit(run(["manage.py", *sys.argv[1:]]))
"""


@pytest.fixture
def make_fleet(transactional_db, tmp_path) -> Iterator[Callable[..., Fleet]]:
    """Make workers of the test site; they end before the tables are emptied."""
    with contextlib.ExitStack() as stack:

        def make(**environment: str) -> Fleet:
            settings = {"DJANGO_SETTINGS_MODULE": "tests.jobs.command_settings", **environment}
            url = url_of(connection.settings_dict)
            return stack.enter_context(Fleet(tmp_path, database_url=url, **settings))

        yield make


@pytest.fixture
def site(transactional_db, tmp_path) -> dict[str, str]:
    """Return the environment of a command of the test site, without any worker."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {
        **kept,
        "DJANGO_SETTINGS_MODULE": "tests.jobs.command_settings",
        "DATABASE_URL": url_of(connection.settings_dict),
        "SECRET_KEY": "only-for-tests",
        "ENGINEROOM_VAR": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "PYTHONIOENCODING": "utf-8",
    }


@contextlib.contextmanager
def started(environment, *arguments: object, **options) -> Iterator[subprocess.Popen[str]]:
    """Start a command whose output can be read; it ends with the block at the latest."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    with subprocess.Popen(
        [sys.executable, "-c", LAUNCH, *map(str, arguments)],
        cwd=ROOT,
        env=environment,
        text=True,
        **(pipes | options),
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def run(environment: dict[str, str], *arguments: object) -> tuple[int, str, str]:
    """Run a command to its end; return its exit code, output and notices."""
    with started(environment, *arguments) as process:
        out, err = process.communicate(timeout=SECONDS)
    return process.returncode, out, err


def interrupt(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Press Ctrl-C; return how the command ended and the rest of what it said."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SECONDS)
    return process.returncode, out, err


def test_run_wait_follows_the_run_to_its_good_end(make_fleet) -> None:
    fleet = make_fleet()
    worker = fleet.start("--only", JOB)
    worker.await_start()

    code, out, err = run(fleet.environment, "jobs", "run", JOB, "--wait", "--reason", "trial")

    row = JobRun.objects.get()
    requested, outcome = out.splitlines()
    assert code == 0, err
    assert requested == f"requested run {row.pk}"
    assert outcome.startswith(f"run {row.pk} of {JOB} succeeded in ")
    assert (row.status, row.trigger, row.reason) == ("succeeded", "manual", "trial")
    assert row.output == {"shelves": {"counted": 3}}
    assert run(fleet.environment, "jobs", "run-log", row.pk, "--stdout")[1] == "counted\n"
    assert "counted shelves=3" in run(fleet.environment, "jobs", "run-log", row.pk)[1]


def test_run_wait_exits_1_when_the_run_fails_and_says_why(make_fleet) -> None:
    fleet = make_fleet(STOCKTAKING="fail")
    fleet.start("--only", JOB).await_start()

    code, out, _ = run(fleet.environment, "jobs", "run", JOB, "--wait", "--json")

    value = json.loads(out)
    assert code == 1
    assert value["status"] == value["run"]["status"] == "failed"
    assert value["run"]["error_head"] == "ValueError: nothing is where it should be"
    assert value["run_id"] == JobRun.objects.get().pk


def test_ctrl_c_ends_the_waiting_only_and_cancel_ends_the_run(make_fleet) -> None:
    fleet = make_fleet(STOCKTAKING="long")
    fleet.start("--only", JOB).await_start()

    runs = JobRun.objects.filter(status="running", progress_total=2)
    with started(fleet.environment, "jobs", "run", JOB, "--wait") as waiting:
        requested = waiting.stdout.readline()
        wait_until(runs.exists, seconds=SECONDS, what="the run reports its progress")
        code, _, err = interrupt(waiting)

    run_id = runs.get().pk
    assert requested == f"requested run {run_id}\n"
    assert code == 1
    assert f"run {run_id} goes on without you" in err
    assert "Traceback" not in err
    assert runs.exists()

    follow = ("jobs", "run-log", run_id, "--follow", "--stdout")
    with started(fleet.environment, *follow) as following:
        cancelled = run(fleet.environment, "jobs", "cancel", JOB, "--yes", "--json")
        out, err = following.communicate(timeout=SECONDS)

    assert cancelled[0] == 0
    assert json.loads(cancelled[1])["run_id"] == run_id
    assert (following.returncode, out) == (0, "counted\n")
    assert f"run {run_id} of {JOB} cancelled" in err
    assert JobRun.objects.get(pk=run_id).status == "cancelled"


def test_run_wait_without_a_worker_says_so_and_shows_progress_as_lines(site) -> None:
    lease = JobRunFactory.build(running=True).lease_expires_at
    with started(site, "jobs", "run", JOB, "--wait") as process:
        notice = process.stderr.readline()
        row = JobRun.objects.get()
        JobRun.objects.filter(pk=row.pk).update(
            status="running", lease_expires_at=lease, progress_done=3, progress_total=10
        )
        progress = process.stderr.readline()
        JobRun.objects.filter(pk=row.pk).update(status="lost", lease_expires_at=None)
        out, _ = process.communicate(timeout=SECONDS)

    assert "manage.py runworkers" in notice
    assert progress == f"run {row.pk} running 3 of 10\n"
    assert process.returncode == 1
    assert out.splitlines()[-1].startswith(f"run {row.pk} of {JOB} lost")


def test_a_reader_that_has_enough_ends_a_command_quietly(site) -> None:
    JobRunFactory.create_batch(200)
    read_end, write_end = os.pipe()
    os.close(read_end)

    command = ("jobs", "runs", "--limit", 200, "--json")
    with started(site, *command, stdout=write_end) as process:
        os.close(write_end)
        _, err = process.communicate(timeout=SECONDS)

    assert (process.returncode, err) == (0, "")


def test_tail_follow_prints_lines_as_they_come_until_ctrl_c(site) -> None:
    ActivityLogFactory(message="before")

    with started(site, "activity", "tail", "--follow", "--json") as process:
        first = json.loads(process.stdout.readline())
        ActivityLogFactory(message="meanwhile")
        second = json.loads(process.stdout.readline())
        code, rest, err = interrupt(process)

    assert [first["message"], second["message"]] == ["before", "meanwhile"]
    assert (code, rest, err) == (0, "", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("jobs", "list"),
        ("jobs", "run", JOB),
        ("alerts", "list", "--json"),
        ("console_groups",),
    ],
)
def test_without_a_database_the_exit_code_is_3_and_one_line_says_so(arguments, tmp_path) -> None:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment = {
        **kept,
        "DJANGO_SETTINGS_MODULE": "tests.jobs.command_settings",
        "DATABASE_URL": NOWHERE,
        "SECRET_KEY": "only-for-tests",
        "ENGINEROOM_VAR": str(tmp_path),
    }

    code, out, err = run(environment, *arguments)

    assert (code, out) == (3, "")
    (line,) = err.splitlines()
    assert "database is not reachable" in line
    assert "hunter2" not in line


def on_a_terminal(environment: dict[str, str], *arguments: object) -> str:
    """Return what a command prints on a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    wide = {**environment, "COLUMNS": "80", "TERM": "xterm"}
    with (
        open(ours, "rb", buffering=0) as stream,  # noqa: PTH123 (a descriptor)
        started(wide, *arguments, stdout=theirs, stderr=theirs) as process,
    ):
        os.close(theirs)
        parts = list(_until_it_hangs_up(stream))
        assert process.wait(SECONDS) == 0
    return b"".join(parts).decode()


def _until_it_hangs_up(stream: BinaryIO) -> Iterator[bytes]:
    with contextlib.suppress(OSError):  # how Linux says that the other side has gone
        while part := stream.read(4096):
            yield part


def test_a_terminal_gets_colours_and_lines_that_fit_unless_it_wants_none(site) -> None:
    JobRunFactory(failed=True, error="ValueError: " + "no such mail " * 20)

    coloured = on_a_terminal(site, "jobs", "runs")
    plain = on_a_terminal({**site, "NO_COLOR": "1"}, "jobs", "runs")

    assert "\x1b[" in coloured
    assert "\x1b[" not in plain
    assert max(len(line) for line in plain.splitlines()) <= 80
    assert "…" in plain


def test_a_database_that_was_never_migrated_is_one_line(site, tmp_path) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA nothing_yet")
    try:
        url = f"{site['DATABASE_URL']}&options=-csearch_path%3Dnothing_yet"
        code, out, err = run({**site, "DATABASE_URL": url}, "jobs", "list")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA nothing_yet")

    assert (code, out) == (1, "")
    (line,) = err.splitlines()
    assert "manage.py migrate" in line
