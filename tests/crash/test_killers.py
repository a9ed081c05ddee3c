"""Rows that kill the process which works on them."""

from __future__ import annotations

import signal
import time

import pytest

import emails
from emails.models import EmailJob
from tests.crash.mails import message
from tests.testapp.models import Delivery, Letter, Parcel

LIMIT_SECONDS = 110


def keep_running(fleet, job_id, *, until, watch=lambda worker: None):
    """Start a worker again whenever it has died, as a service manager does."""
    worker = fleet.start("--only", job_id)
    end = time.monotonic() + LIMIT_SECONDS
    while not until():
        assert time.monotonic() < end, worker.output()
        watch(worker)
        if worker.code is not None:
            assert worker.code == -signal.SIGKILL
            worker = fleet.start("--only", job_id)
        time.sleep(0.02)
    return worker


def handled(model, row):
    return Delivery.objects.filter(queue=model._meta.db_table, row_id=row.pk).count()


@pytest.mark.timeout(150)
@pytest.mark.parametrize(
    ("model", "job_id", "claims"), [(Parcel, "testapp.parcels", 5), (Letter, "testapp.letters", 3)]
)
def test_a_row_that_kills_its_worker_is_a_dead_letter_after_its_cap(
    make_fleet, figures, model, job_id, claims
):
    extra = {"address": "a"} if model is Parcel else {}
    others = [model(**extra) for _ in range(9)]
    others += [model(instruction="sleep 0.2", **extra) for _ in range(3)]
    model.objects.bulk_create(others[:4])
    killer = model.objects.create(instruction="kill", **extra)
    model.objects.bulk_create(others[4:])
    fleet = make_fleet(WORKER_CLAIM_STALE_MS="1000")

    keep_running(
        fleet,
        job_id,
        until=lambda: (
            not model.objects.exclude(status="done")
            .exclude(status="failed", next_retry_at=None)
            .exists()
        ),
    )

    killer.refresh_from_db()
    figures(deaths=handled(model, killer))
    assert handled(model, killer) == claims
    assert (killer.status, killer.next_retry_at) == ("failed", None)
    assert killer.last_error.startswith(f"The worker died {claims} times while holding this row")
    assert killer.attempts == (claims if model is Parcel else 0)
    neighbours = model.objects.exclude(pk=killer.pk)
    assert {row.status for row in neighbours} == {"done"}
    for row in neighbours:
        spent = row.attempts - 1 if model is Parcel else row.attempts
        # One that was in work beside the killer at its death, once; the others nothing.
        assert spent + (0 if model is Parcel else row.stale_recoveries) <= 1
        assert row.stale_recoveries <= 1
        assert 1 <= handled(model, row) <= 1 + row.stale_recoveries


@pytest.mark.timeout(150)
def test_a_mail_at_which_the_worker_dies_each_time_is_a_dead_letter_and_the_others_are_sent(
    make_sink, make_fleet, figures
):
    sink = make_sink()
    fleet = make_fleet(
        EMAIL_DELIVERY_URL=sink.url, EMAIL_MAX_STALE_RECOVERIES="2", WORKER_CLAIM_STALE_MS="1000"
    )
    mails = [emails.enqueue(message(f"to+{number}@example.com")) for number in range(10)]
    killer = emails.enqueue(message("stuck@example.com"))
    deaths = 0

    def kill_at_its_dot(worker):
        nonlocal deaths
        if sink.copies()[killer.message_id] > deaths:
            deaths += 1
            worker.kill()

    keep_running(
        fleet,
        "emails.processor",
        watch=kill_at_its_dot,
        until=lambda: (
            not EmailJob.objects.exclude(status="sent")
            .exclude(status="failed", next_retry_at=None)
            .exists()
        ),
    )

    killer.refresh_from_db()
    figures(deaths=deaths)
    assert (killer.status, killer.next_retry_at, killer.attempts) == ("failed", None, 0)
    assert killer.possible_duplicate
    assert killer.last_error.startswith("The worker died 3 times while holding this row")
    assert deaths == sink.copies()[killer.message_id] == 3
    assert {len(forms) for forms in sink.forms().values()} == {1}
    for mail in mails:
        mail.refresh_from_db()
        assert (mail.status, mail.attempts) == ("sent", 0)
        assert mail.stale_recoveries <= 1
        assert sink.copies()[mail.message_id] <= 1 + mail.possible_duplicate
