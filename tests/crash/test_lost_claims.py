"""A worker that stood still for longer than the window, and comes back."""

from __future__ import annotations

import signal

import pytest
from django.db import connections

import emails
from emails.models import EmailJob
from tests.conftest import wait_until
from tests.crash.mails import message
from tests.testapp.models import Crate, Delivery, Letter, Parcel

MODELS = (EmailJob, Parcel, Crate, Letter)


def snapshot():
    """Return every column of every row."""
    return {model: list(model.objects.order_by("id").values()) for model in MODELS}


@pytest.mark.timeout(150)
def test_late_writes_of_a_worker_that_stood_still_change_nothing_and_warn_once_a_row(
    make_sink, make_fleet
):
    sink = make_sink()
    fleet = make_fleet(EMAIL_DELIVERY_URL=sink.url)
    completes = emails.enqueue(message("late-2@example.com"))
    fails = emails.enqueue(message("late451-2@example.com"))
    rows = [
        model.objects.create(instruction="sleep 2", **extra)
        for model, extra in (
            (Parcel, {"address": "a"}),
            (Crate, {}),
            (Letter, {}),
        )
    ]
    first = fleet.start()
    wait_until(lambda: Delivery.objects.count() == 3 and len(sink.mails()) == 2)
    first.send(signal.SIGSTOP)

    for model in (Parcel, Crate, Letter):
        model.objects.update(instruction="deliver")
    second = fleet.start()
    wait_until(lambda: EmailJob.objects.filter(status="sent").count() == 2)
    for row in rows:
        wait_until(lambda row=row: type(row).objects.get(pk=row.pk).status == "done")
    before = snapshot()
    first.send(signal.SIGCONT)

    lost = [
        *(
            f"stale_completion_rejected queue=email_jobs id={mail.pk}"
            for mail in (completes, fails)
        ),
        *(f"stale_completion_rejected queue={row._meta.db_table} id={row.pk}" for row in rows),
    ]
    wait_until(
        lambda: len(first.lines("stale_completion_rejected queue=(?!job_runs)")) >= len(lost)
    )
    assert (first.stop(), second.stop()) == (0, 0)
    assert sorted(first.lines("stale_completion_rejected queue=(?!job_runs)")) == sorted(lost)
    assert second.lines("stale_completion_rejected") == []
    assert snapshot() == before
    assert {mail["message_id"]: mail["answer"][:3] for mail in sink.mails()[2:]} == {
        completes.message_id: "250",
        fails.message_id: "250",
    }
    assert {len(forms) for forms in sink.forms().values()} == {1}
    assert set(EmailJob.objects.values_list("possible_duplicate", "stale_recoveries")) == {
        (True, 1)
    }
    connections.close_all()
