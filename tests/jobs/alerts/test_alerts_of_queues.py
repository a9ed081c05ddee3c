"""Alerts about queues: dead letters and rows that nobody finishes."""

from __future__ import annotations

import datetime as dt

from django.utils import timezone

from jobs import pausing
from jobs.alerts.evaluate import evaluate
from jobs.alerts.movement import declare_progress, withdraw_progress
from jobs.deadletters import (
    DeadLetterQueue,
    count_dead,
    dead_letter_queues,
    declare_dead_letters,
    withdraw_dead_letters,
)
from jobs.models import Alert, JobRun
from tests.jobs.alerting import declared, open_alerts, scheduled_run
from tests.jobs.alerts.conftest import PARCEL_JOB, PARCELS, parcel
from tests.testapp.models import Parcel


def test_dead_letters_open_at_the_queues_own_threshold_and_close_below_it(parcels) -> None:
    parcel("failed")
    parcel("failed", next_retry_at=timezone.now())
    evaluate()
    by_policy = open_alerts()
    declare_dead_letters(
        DeadLetterQueue(
            queue=PARCELS, rows=lambda: Parcel.objects.filter(status="failed"), threshold=3
        )
    )
    try:
        evaluate()
        by_declaration = open_alerts()
    finally:
        withdraw_dead_letters(PARCELS)

    assert by_policy == [("dead_letter_depth", PARCELS)]
    assert by_declaration == []
    assert "below the threshold of 3" in Alert.objects.get().resolution


def test_a_row_that_will_be_retried_is_no_dead_letter(parcels) -> None:
    parcel("failed", next_retry_at=timezone.now() + dt.timedelta(hours=1))

    evaluate()

    assert open_alerts() == []


def test_dead_letters_are_counted_up_to_a_cap(parcels) -> None:
    for _ in range(4):
        parcel("failed")
    (queue,) = dead_letter_queues()

    assert count_dead(queue, cap=3).value == 3
    assert count_dead(queue, cap=3).is_capped
    assert not count_dead(queue, cap=4).is_capped


def test_a_queue_that_finishes_nothing_for_ten_minutes_is_stalled_until_a_row_is_done(
    parcels,
) -> None:
    row = parcel("processing")
    parcel("processing")
    evaluate()
    opened = open_alerts()

    scheduled_run("succeeded", job_id=PARCEL_JOB, output={"claimed": 1, "done": 1})
    Parcel.objects.filter(pk=row.pk).update(
        status="done", claimed_at=None, claimed_by=None, claim_token=None, begun_at=None
    )
    evaluate()

    assert opened == [("stalled", PARCELS)]
    assert open_alerts() == []


def test_a_pass_that_claimed_and_finished_nothing_ends_no_stall(parcels) -> None:
    parcel("processing")
    evaluate()
    scheduled_run("succeeded", job_id=PARCEL_JOB, output={"claimed": 3, "lost": 3})

    evaluate()

    assert open_alerts() == [("stalled", PARCELS)]


def test_a_pass_that_goes_on_ends_a_stall_when_its_counts_change(parcels) -> None:
    parcel("processing")
    going_on = scheduled_run(
        "running",
        job_id=PARCEL_JOB,
        finished_at=None,
        lease_expires_at=timezone.now() + dt.timedelta(minutes=1),
        output={"claimed": 2, "done": 1},
    )
    with declared("jobs.alerts"):
        run_alerts()
        opened = open_alerts()
        run_alerts()
        still = open_alerts()
        JobRun.objects.filter(pk=going_on.pk).update(output={"claimed": 2, "done": 2})
        run_alerts()

    assert opened == still
    assert ("stalled", PARCELS) in opened
    assert ("stalled", PARCELS) not in open_alerts()


def test_progress_that_an_app_declares_ends_a_stall(parcels) -> None:
    parcel("processing")
    progress = {"deleted": 1}
    declare_progress(PARCELS, lambda: progress)
    try:
        run_alerts()
        opened = open_alerts()
        progress["deleted"] = 2
        run_alerts()
    finally:
        withdraw_progress(PARCELS)

    assert ("stalled", PARCELS) in opened
    assert ("stalled", PARCELS) not in open_alerts()


def run_alerts() -> None:
    """Evaluate as the job does, so that its summary is in the ledger."""
    JobRun.objects.create(
        job_id="jobs.alerts",
        trigger="schedule",
        status="succeeded",
        started_at=timezone.now(),
        finished_at=timezone.now(),
        output=evaluate().summary(),
    )


def test_pausing_a_queues_job_closes_the_alerts_about_its_queue(parcels) -> None:
    parcel("failed")
    evaluate()

    pausing.pause(PARCEL_JOB, actor="anna", reason="the bank is down")
    evaluate()

    assert open_alerts() == []
