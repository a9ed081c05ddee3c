"""Exit codes and last words of commands, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOWHERE = "postgres://me:hunter2@127.0.0.1:1/shop"
WRONG = [
    ("WORKER_CLAIM_STALE_MS", "-5"),
    ("EMAIL_DELIVERY_URL", "gopher://me:hunter2@h"),
    ("DATABASE_URL", "mysql://me:hunter2@h/x"),
    ("DEBUG", "maybe"),
]


def manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command without a database that anybody could reach."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    site = {"SECRET_KEY": "only-for-tests", "EMAIL_DELIVERY_URL": "console:"}
    given = {"DATABASE_URL": NOWHERE, **site, **environment}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**kept, **given},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_setting_stops_a_command_with_one_line_and_exit_code_2(name, value):
    result = manage("check", **{name: value})

    assert result.returncode == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"{name}=")
    assert "hunter2" not in line


def test_runworkers_refuses_a_wrong_setting_too():
    result = manage("runworkers", "--list", JOB_LEASE_MS="1")

    assert result.returncode == 2
    assert result.stderr == "JOB_LEASE_MS=1 is not allowed: a whole number from 3000 to 3600000.\n"


def test_a_directory_that_cannot_be_written_is_a_wrong_setting(tmp_path):
    file = tmp_path / "file"
    file.touch()

    result = manage("check", DATABASE_URL="", ENGINEROOM_VAR=str(file / "var"))

    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"ENGINEROOM_VAR={file / 'var'} is not allowed: a directory")


def test_a_missing_secret_key_is_exit_code_2():
    result = manage("check", SECRET_KEY="")

    assert result.returncode == 2
    assert result.stderr.startswith("SECRET_KEY is not set: ")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("arguments", [("migrate",), ("runworkers", "--once")])
def test_an_unreachable_database_is_exit_code_3_and_one_line(arguments):
    result = manage(*arguments)

    assert result.returncode == 3
    (line,) = result.stderr.splitlines()
    assert line.removeprefix("CommandError: ").startswith("The database is not reachable: ")
    assert "hunter2" not in result.stderr


def test_an_unknown_job_is_exit_code_2_and_the_nearest_is_named():
    result = manage("runworkers", "--only", "email.procesor")

    assert result.returncode == 2
    assert "'email.procesor'" in result.stderr
    assert "did you mean emails.processor?" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_workers_that_are_switched_off_say_so_and_need_no_database():
    result = manage("runworkers", ENGINEROOM_WORKERS="off")

    assert result.returncode == 0
    assert "ENGINEROOM_WORKERS=off" in result.stdout


def test_the_list_of_jobs_needs_no_database():
    result = manage("runworkers", "--list")

    assert result.returncode == 0
    assert "emails.processor" in result.stdout
