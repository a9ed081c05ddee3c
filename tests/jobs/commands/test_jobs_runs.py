"""``jobs runs`` and ``jobs run-log``."""

from __future__ import annotations

import datetime as dt

import pytest

from jobs.models import JobRun
from tests.factories import ActivityLogFactory, JobRunFactory
from tests.jobs.alerting import ORDERS
from tests.jobs.commanding import manage, same_as_snapshot
from tests.jobs.commands.conftest import NOW

pytestmark = pytest.mark.django_db


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
