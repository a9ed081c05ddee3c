"""The end of a worker: by a deploy, by an impatient operator."""

from __future__ import annotations

import signal
import time

import pytest

import emails
from emails.models import EmailJob
from jobs.models import Worker
from tests.conftest import wait_until
from tests.crash.mails import message
from tests.forms import FULL
from tests.testapp.models import Crate, Delivery, Parcel

GRACE_SECONDS = 4


def in_work():
    return EmailJob.objects.filter(begun_at__isnull=False).count()


@pytest.mark.timeout(120)
def test_a_stop_releases_what_is_not_begun_finishes_what_is_short_and_takes_back_the_rest(
    make_sink, make_fleet, figures
):
    sink = make_sink()
    fleet = make_fleet(
        EMAIL_DELIVERY_URL=sink.url,
        EMAIL_CONNECTIONS="2",
        WORKER_SHUTDOWN_GRACE_MS=str(GRACE_SECONDS * 1000),
        WORKER_CLAIM_STALE_MS="60000",
    )
    short = emails.enqueue(message("late-1.5@example.com"))
    stuck = emails.enqueue(message("stuck@example.com"))
    waiting = [emails.enqueue(message(f"to+{number}@example.com")) for number in range(20)]
    worker = fleet.start("--only", "emails.processor")
    wait_until(lambda: len(sink.mails()) == 2)
    assert EmailJob.objects.filter(status="processing").count() == 22

    worker.send(signal.SIGTERM)
    asked = time.monotonic()
    wait_until(
        lambda: EmailJob.objects.filter(status="pending").count() == 20, seconds=GRACE_SECONDS
    )
    assert worker.code is None  # released at once, not at the end
    late = emails.enqueue(message("to+late@example.com"))
    code = worker.wait(seconds=GRACE_SECONDS + 20)
    took = time.monotonic() - asked

    figures(grace_seconds=GRACE_SECONDS, stopped_after=round(took, 2))
    assert code == 0
    assert took < GRACE_SECONDS + (2 if FULL else 10)
    for mail in (*waiting, late):
        mail.refresh_from_db()
        assert (mail.status, mail.attempts, mail.interruptions) == ("pending", 0, 0)
        assert (mail.claim_token, mail.next_retry_at) == (None, None)
    short.refresh_from_db()
    assert (short.status, short.possible_duplicate) == ("sent", False)
    stuck.refresh_from_db()
    assert (stuck.status, stuck.attempts, stuck.interruptions) == ("pending", 0, 1)
    assert stuck.possible_duplicate
    assert stuck.next_retry_at > stuck.created_at
    assert len(sink.mails()) == 2
    assert Worker.objects.get().stopped_at is not None


def test_rows_of_other_queues_are_taken_back_with_their_attempt_when_the_grace_ends(make_fleet):
    fleet = make_fleet(WORKER_SHUTDOWN_GRACE_MS="500", WORKER_CLAIM_STALE_MS="60000")
    parcel = Parcel.objects.create(address="a", instruction="sleep 30")
    crate = Crate.objects.create(instruction="sleep 30")
    worker = fleet.start("--only", "testapp.parcels", "testapp.crates")
    wait_until(lambda: Delivery.objects.count() == 2)

    assert worker.stop() == 0

    for row in (parcel, crate):
        row.refresh_from_db()
        assert (row.status, row.attempts, row.interruptions) == ("pending", 0, 1)


def test_a_second_signal_ends_the_process_at_once(make_sink, make_fleet):
    sink = make_sink()
    fleet = make_fleet(EMAIL_DELIVERY_URL=sink.url, WORKER_SHUTDOWN_GRACE_MS="600000")
    emails.enqueue(message("stuck@example.com"))
    worker = fleet.start("--only", "emails.processor")
    wait_until(lambda: len(sink.mails()) == 1)

    worker.send(signal.SIGINT)
    worker.await_output("Stopping")
    assert worker.code is None
    worker.send(signal.SIGTERM)

    assert worker.wait(seconds=20) == 1
    assert in_work() == 1  # left to its window
