"""The rows of the ledger: runs that go on, that end, that are lost."""

from __future__ import annotations

import logging
import time
from types import SimpleNamespace

import pytest
from django.db.models import F

from jobs import ledger
from jobs.models import JobRun, JobState
from jobs.models.run import RunStatus, Trigger

pytestmark = pytest.mark.django_db(transaction=True)


def expire(run):
    JobRun.objects.filter(pk=run.id).update(lease_expires_at=F("created_at"))


def test_a_run_that_goes_on_has_a_lease_that_the_heartbeat_moves():
    run = ledger.open_run("a.job", Trigger.SCHEDULE)
    first = JobRun.objects.get().lease_expires_at

    ledger.open_runs.heartbeat()

    row = JobRun.objects.get()
    assert row.lease_expires_at > first
    assert (row.status, row.job_id, row.trigger) == ("running", "a.job", "schedule")
    assert row.claimed_by
    assert run.close(RunStatus.SUCCEEDED, output={"done": 2})
    row.refresh_from_db()
    assert (row.status, row.output, row.lease_expires_at) == ("succeeded", {"done": 2}, None)
    assert row.finished_at >= row.started_at


def test_a_run_whose_lease_ran_out_is_closed_by_whoever_notices(caplog):
    run = ledger.open_run("a.job", Trigger.SCHEDULE)
    assert ledger.close_lost() == []
    expire(run)

    (lost,) = ledger.close_lost()

    assert lost.pk == run.id
    row = JobRun.objects.get()
    assert (row.status, row.lease_expires_at) == ("lost", None)
    assert row.finished_at is not None
    assert row.error
    assert ledger.close_lost() == []


def test_the_late_end_of_a_lost_run_changes_nothing_and_warns(caplog):
    run = ledger.open_run("a.job", Trigger.SCHEDULE)
    expire(run)
    ledger.close_lost()
    before = JobRun.objects.values().get()
    caplog.clear()

    with caplog.at_level(logging.WARNING):
        assert not run.close(RunStatus.SUCCEEDED)
        assert not run.write(output={"done": 1})

    assert JobRun.objects.values().get() == before
    assert [r.getMessage() for r in caplog.records] == [
        f"stale_completion_rejected queue=job_runs id={run.id}"
    ]


def test_the_heartbeat_does_not_revive_a_run_of_another():
    run = ledger.open_run("a.job", Trigger.SCHEDULE)
    JobRun.objects.update(claim_token="00000000-0000-0000-0000-000000000000")
    before = JobRun.objects.get().lease_expires_at

    ledger.open_runs.heartbeat()

    assert JobRun.objects.get().lease_expires_at == before
    assert not run.write(output={})


def test_a_run_that_has_ended_is_recorded_with_its_length():
    row = ledger.record_run("a.job", Trigger.NOTIFY, RunStatus.FAILED, age_seconds=60, error="no")

    row = JobRun.objects.get(pk=row.pk)
    assert 60 <= (row.finished_at - row.started_at).total_seconds() < 90
    assert (row.status, row.error) == ("failed", "no")


def test_an_idle_job_writes_at_most_once_in_ten_seconds_and_loses_no_count(monkeypatch):
    ticks = ledger.TickRecorder("a.job")
    for _ in range(5):
        ticks.tick(idle=True)
    first = JobState.objects.get()
    assert first.idle_passes == 1
    assert first.last_tick_at is not None

    later = time.monotonic() + ledger.TICK_SECONDS
    monkeypatch.setattr(ledger, "time", SimpleNamespace(monotonic=lambda: later))
    ticks.tick(idle=False)

    state = JobState.objects.get()
    assert state.idle_passes == 5
    assert state.last_tick_at > first.last_tick_at


def test_long_texts_keep_their_end():
    text = ledger.bounded("a" * 70_000 + "\x00end")

    assert len(text) == 64 * 1024
    assert text.endswith("\ufffdend")
