"""Passes and their rows in the ledger."""

from __future__ import annotations

import dataclasses
import logging
from types import SimpleNamespace

import pytest
from django.db import OperationalError

import jobs.context
from jobs import ledger, runner
from jobs.activity import log_activity
from jobs.context import RunContext
from jobs.declarations import registry
from jobs.models import ActivityLog, JobRun, JobState
from jobs.models.run import Trigger
from jobs.runner import PassRunner
from jobs.signals import run_failed, run_finished

pytestmark = pytest.mark.django_db(transaction=True)


class Passes:
    """A job whose passes do what the test says."""

    def __init__(self) -> None:
        self.declaration = dataclasses.replace(
            registry.get("testapp.parcels"), id="a.job", run_once=self.run_once
        )
        self.runner = PassRunner(self.declaration)
        self.do = lambda context: None

    def run_once(self, context):
        self.do(context)

    def run(self, do=None, *, trigger=Trigger.SCHEDULE):
        self.do = do or (lambda context: context.tally(done=1))
        context = RunContext(declaration=self.declaration, trigger=trigger)
        context.began = runner.time.monotonic()
        return self.runner.run(context)


@pytest.fixture
def passes(monkeypatch):
    now = [600.0]
    for module in (runner, jobs.context):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    passes = Passes()
    passes.clock = now
    return passes


def nothing(context):
    """Find nothing to do."""


def test_a_pass_that_found_nothing_writes_no_row_but_ticks(passes):
    assert not passes.run(nothing)

    assert JobRun.objects.count() == 0
    state = JobState.objects.get(pk="a.job")
    assert (state.idle_passes, state.last_tick_at is None) == (1, False)


def test_short_passes_of_a_minute_are_one_row_with_their_sums(passes):
    for _ in range(3):
        passes.run(lambda context: context.tally(done=2, failed=1))

    row = JobRun.objects.get()
    assert (row.status, row.passes) == ("succeeded", 3)
    assert row.output == {"done": 6, "failed": 3}


def test_the_next_minute_has_a_row_of_its_own(passes):
    passes.run()
    passes.clock[0] += 60
    passes.run()

    assert list(JobRun.objects.values_list("passes", flat=True)) == [1, 1]


def test_only_passes_of_one_trigger_are_folded(passes):
    passes.run(trigger=Trigger.SCHEDULE)
    passes.run(trigger=Trigger.NOTIFY)
    passes.run(trigger=Trigger.NOTIFY)

    rows = JobRun.objects.order_by("id").values_list("trigger", "passes")
    assert list(rows) == [("schedule", 1), ("notify", 2)]


def test_each_manual_pass_has_a_row_of_its_own(passes):
    for _ in range(2):
        passes.run(trigger=Trigger.MANUAL)

    assert list(JobRun.objects.values_list("trigger", "passes")) == [("manual", 1)] * 2


def test_a_pass_that_raises_has_a_row_of_its_own_with_its_error_masked(passes):
    failures = []
    run_failed.connect(lambda **told: failures.append(told["run_id"]), weak=False, dispatch_uid="t")

    def fail(context):
        context.tally(done=1)
        raise ValueError("postgres://me:hunter2@db/x")

    passes.run()
    passes.run(fail)
    passes.run()
    run_failed.disconnect(dispatch_uid="t")

    first, failed = JobRun.objects.order_by("id")
    assert (first.status, first.passes) == ("succeeded", 2)
    assert (failed.status, failed.passes, failed.output) == ("failed", 1, {"done": 1})
    assert failed.error.startswith("ValueError: postgres://me:****@db/x\n")
    assert "hunter2" not in failed.error
    assert failures == [failed.pk]


def test_an_item_that_fails_is_no_failure_of_the_pass(passes):
    passes.run(lambda context: context.tally(failed=1))

    assert JobRun.objects.get().status == "succeeded"


def test_a_pass_that_lasts_has_a_row_while_it_goes_on(passes):
    seen = []

    def last(context):
        context.tally(done=1)
        passes.clock[0] += 2
        context.checkpoint()
        seen.append(JobRun.objects.get())
        context.tally(done=1)
        context.progress(2, 5)
        passes.clock[0] += 3
        context.checkpoint()
        seen.append(JobRun.objects.get())

    passes.run(last)

    assert [row.status for row in seen] == ["running", "running"]
    assert all(row.lease_expires_at for row in seen)
    assert (seen[1].output, seen[1].progress_done, seen[1].progress_total) == ({"done": 2}, 2, 5)
    row = JobRun.objects.get()
    assert (row.status, row.output, row.lease_expires_at) == ("succeeded", {"done": 2}, None)


def test_an_outage_is_raised_and_its_row_left_to_its_lease(passes):
    def outage(context):
        context.tally(done=1)
        passes.clock[0] += 2
        context.checkpoint()
        raise OperationalError("server closed the connection unexpectedly")

    with pytest.raises(OperationalError):
        passes.run(outage)

    assert JobRun.objects.get().status == "running"
    assert ledger.open_runs.runs == {}


def test_what_a_pass_logs_has_its_run(passes):
    def log(context):
        context.tally(done=1)
        log_activity("job", "info", "the key is password=hunter2", order=5)

    passes.run(log)

    line = ActivityLog.objects.get()
    assert (line.job_id, line.run_id) == ("a.job", JobRun.objects.get().pk)
    assert line.message == "the key is password=****"
    assert line.context == {"order": 5}


def test_the_end_of_a_run_is_told_and_a_receiver_that_raises_stops_nothing(passes, caplog):
    told = []

    def receive(**news):
        told.append((news["run_id"], str(news["status"]), news["output"]))
        raise RuntimeError

    run_finished.connect(receive, weak=False, dispatch_uid="t")
    with caplog.at_level(logging.CRITICAL):
        passes.run()
    run_finished.disconnect(dispatch_uid="t")

    assert told == [(JobRun.objects.get().pk, "succeeded", {"done": 1})]
