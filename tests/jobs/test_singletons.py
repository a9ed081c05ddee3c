"""Runs of singletons, from the inside and in the ledger."""

from __future__ import annotations

import datetime as dt
import logging
import threading

import pytest
from django.db import connections

from jobs.activity import ActivityHandler
from jobs.capture import LIMIT, Printed, route_prints
from jobs.context import RunContext
from jobs.declarations import JobDeclaration
from jobs.ledger import open_run, open_runs
from jobs.models import ActivityLog, JobRun
from jobs.models.run import RunStatus, Trigger
from jobs.pausing import request_cancel
from jobs.signals import run_failed, run_finished
from jobs.singletons import SingletonRun
from tests.conftest import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def execute(run_once, **options):
    job = JobDeclaration(
        id="tests.job",
        summary="Do it.",
        run_once=run_once,
        owner_file="tests",
        read_cadence=lambda: None,
    )
    run = open_run(job.id, Trigger.SCHEDULE)
    context = RunContext(declaration=job, trigger=Trigger.SCHEDULE, **options)
    run.cancel = context.cancelled.set
    route_prints()
    SingletonRun(context, run).execute()
    return JobRun.objects.get(pk=run.id)


def test_the_summary_is_what_the_job_returns():
    run = execute(lambda context: {"deleted": 3, "at": dt.date(2026, 1, 2)})

    assert (run.status, run.output) == ("succeeded", {"deleted": 3, "at": "2026-01-02"})
    assert run.finished_at >= run.started_at
    assert run.lease_expires_at is None


def test_what_it_prints_and_logs_before_it_fails_is_kept():
    handler = ActivityHandler(level=logging.INFO)
    logging.getLogger().addHandler(handler)

    def work(context):
        print("halfway")
        logging.getLogger("shop").warning("shelf_empty id=%s", 7)
        raise ValueError("https://me:secret@example.com is away\x00")

    try:
        run = execute(work)
    finally:
        logging.getLogger().removeHandler(handler)

    assert run.status == "failed"
    assert run.stdout == "halfway\n"
    assert run.error.startswith("ValueError: https://me:****@example.com is away")
    assert "Traceback" not in run.error.splitlines()[0]
    line = ActivityLog.objects.get(level="warning")
    assert (line.message, line.run_id, line.job_id) == ("shelf_empty id=7", run.pk, "tests.job")


def test_prints_of_two_runs_at_once_do_not_mix():
    barrier = threading.Barrier(2)

    def work_as(name):
        def work(context):
            barrier.wait()
            for _ in range(50):
                print(name)

        def thread():
            execute(work)
            connections.close_all()

        return threading.Thread(target=thread)

    threads = [work_as("a"), work_as("b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(JobRun.objects.values_list("stdout", flat=True)) == ["a\n" * 50, "b\n" * 50]


def test_what_is_printed_is_bounded_to_its_tail():
    printed = Printed()
    for number in range(40_000):
        printed.write(f"{number}\n")

    text = printed.text()

    assert len(text) <= LIMIT + 20
    assert text.startswith("[… cut …]")
    assert text.endswith("39999\n")


def test_a_summary_that_json_cannot_hold_is_its_repr():
    run = execute(lambda context: {"what": object})

    assert run.output == {"what": "<class 'object'>"}


def test_a_huge_summary_is_replaced_by_its_size():
    run = execute(lambda context: {"x": "y" * 300_000})

    assert run.output["cut"].startswith("a summary of 300")


def test_a_cancelled_run_that_stops_is_cancelled():
    def work(context):
        request_cancel(context.run_id)
        open_runs.heartbeat()
        wait_until(context.should_stop)
        return {"done": 1}

    run = execute(work)

    assert (run.status, run.output) == ("cancelled", {"done": 1})


def test_progress_is_seen_while_it_runs():
    seen = []

    def work(context):
        context.progress(3, 10)
        context.checkpoint()
        seen.append(
            JobRun.objects.values_list("progress_done", "progress_total").get(pk=context.run_id)
        )

    execute(work)

    assert seen == [(3, 10)]


def test_the_signals_tell_of_the_end_and_of_the_failure():
    heard = []

    def on_finished(sender, status, **kwargs):
        heard.append(("finished", status))

    def on_failed(sender, exception, **kwargs):
        heard.append(("failed", type(exception).__name__))

    run_finished.connect(on_finished)
    run_failed.connect(on_failed)

    def fail(context):
        raise KeyError("x")

    execute(lambda context: None)
    execute(fail)

    run_finished.disconnect(on_finished)
    run_failed.disconnect(on_failed)
    assert heard == [
        ("finished", RunStatus.SUCCEEDED),
        ("finished", RunStatus.FAILED),
        ("failed", "KeyError"),
    ]


def test_a_run_that_was_lost_meanwhile_is_not_overwritten(caplog):
    def work(context):
        JobRun.objects.filter(pk=context.run_id).update(status="lost", lease_expires_at=None)

    run = execute(work)

    assert run.status == "lost"
    assert "stale_completion_rejected queue=job_runs" in caplog.text


def test_a_job_that_leaves_the_interpreter_fails_and_is_no_longer_held():
    def work(context):
        raise SystemExit(3)

    run = execute(work)

    assert (run.status, run.error.splitlines()[0]) == ("failed", "SystemExit: 3")
    assert run.pk not in open_runs.runs
