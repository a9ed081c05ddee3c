"""Mail from committed transactions to a server, through workers that live and workers that die."""

from __future__ import annotations

import time

import pytest
from django.core.mail import send_mail
from django.db import transaction

from emails.models import EmailJob
from tests.conftest import wait_until
from tests.forms import FULL

CONNECTIONS = 4


class RollBackError(Exception):
    """What makes a transaction of these tests fail."""


def send_all(count, *, together=8):
    """Send mail in transactions, each fifth of which is rolled back; return who is to get it."""
    committed = []
    for number, start in enumerate(range(0, count, together)):
        addresses = [f"to+{index}@example.com" for index in range(start, start + together)]
        try:
            with transaction.atomic():
                for address in addresses:
                    send_mail("An order", f"For {address}.", "shop@example.com", [address])
                if number % 5 == 4:
                    raise RollBackError  # noqa: TRY301
        except RollBackError:
            continue
        committed += addresses
    return committed


def all_sent():
    return not EmailJob.objects.exclude(status="sent").exists()


@pytest.mark.timeout(300)
def test_every_committed_mail_is_delivered_once_and_no_other(
    make_sink, make_fleet, queue_mail, figures
):
    sink = make_sink()
    fleet = make_fleet(EMAIL_DELIVERY_URL=sink.url)
    for _ in range(2):
        fleet.start("--only", "emails.processor").await_start()
    began = time.monotonic()

    committed = send_all(2000 if FULL else 240)

    wait_until(all_sent, seconds=200, what="everything is sent")
    figures(mails=len(committed), seconds=round(time.monotonic() - began, 1))
    assert [worker.stop() for worker in fleet.started] == [0, 0]
    assert sorted(mail["recipients"][0] for mail in sink.mails()) == sorted(committed)
    assert set(sink.copies().values()) == {1}
    assert not EmailJob.objects.filter(possible_duplicate=True).exists()
    assert not EmailJob.objects.filter(attempts__gt=0).exists()


@pytest.mark.timeout(600)
def test_workers_killed_every_second_lose_nothing_and_double_only_what_was_in_flight(
    make_sink, make_fleet, queue_mail, figures
):
    sink = make_sink("--seconds", "0.2")
    fleet = make_fleet(EMAIL_DELIVERY_URL=sink.url)
    committed = send_all(2000 if FULL else 240)
    workers = [fleet.start("--only", "emails.processor") for _ in range(2)]
    most, kills = (90 if FULL else 8), 0
    began = time.monotonic()

    while kills < most and not all_sent():
        time.sleep(1)  # the rhythm of the kills, not a wait for something
        workers.append(fleet.start("--only", "emails.processor"))
        workers.pop(0).kill()
        kills += 1

    wait_until(all_sent, seconds=300, what="everything is sent")
    copies = sink.copies()
    doubled = {message_id for message_id, count in copies.items() if count > 1}
    extra = sum(copies.values()) - len(copies)
    marked = set(
        EmailJob.objects.filter(possible_duplicate=True).values_list("message_id", flat=True)
    )
    figures(
        mails=len(committed),
        kills=kills,
        copies=extra,
        marked=len(marked),
        seconds=round(time.monotonic() - began, 1),
    )
    assert {r for mail in sink.mails() for r in mail["recipients"]} == set(committed)
    assert kills > 0
    assert extra <= kills * CONNECTIONS
    assert doubled <= marked
    assert all(len(forms) == 1 for forms in sink.forms().values())
    assert not EmailJob.objects.filter(attempts__gt=0).exists()


def test_no_mail_goes_twice_when_workers_are_stopped_and_started_all_the_time(
    make_sink, make_fleet, queue_mail, figures
):
    sink = make_sink("--seconds", "0.1")
    fleet = make_fleet(EMAIL_DELIVERY_URL=sink.url)
    committed = send_all(48)
    deploys = 0

    while not all_sent():
        worker = fleet.start("--only", "emails.processor")
        worker.await_start()
        before = len(sink.mails())
        wait_until(lambda before=before: len(sink.mails()) > before + 8 or all_sent())
        assert worker.stop() == 0
        deploys += 1

    figures(mails=len(committed), deploys=deploys)
    assert deploys > 1
    assert set(sink.copies().values()) == {1}
    assert len(sink.mails()) == len(committed)
    assert set(
        EmailJob.objects.values_list("attempts", "stale_recoveries", "possible_duplicate")
    ) == {(0, 0, False)}
