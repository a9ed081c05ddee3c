"""A failing relay pauses the way out for all workers, and no mail pays for it."""

from __future__ import annotations

import datetime as dt
import logging
import threading

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

import emails
from emails.channel import Admission, Channel, pause_seconds
from emails.delivery import parse_delivery_url
from emails.envelopes import ChannelError
from emails.models import EmailChannel, EmailJob
from emails.replies import Stage, parse_reply
from jobs.testing import database_clock
from tests.emails.conftest import message
from tests.emails.smtpd import DROP, ScriptedServer, unused_port

URL = parse_delivery_url("smtp://relay.example.org:2525")
REFUSED = ChannelError(stage=Stage.CONNECT, detail="[Errno 111] Connection refused")
# As the column defaults of rows made in the test have the real time, this is a bit later.
NOON = dt.datetime.now(dt.UTC).replace(microsecond=0) + dt.timedelta(minutes=1)


def states() -> set[tuple[str, int]]:
    return set(EmailJob.objects.values_list("status", "attempts"))


def pass_time(clock, work, *, minutes: float, poll_seconds: int = 30) -> None:
    """Run a pass at every poll."""
    for _ in range(int(minutes * 60 / poll_seconds)):
        clock.advance(seconds=poll_seconds)
        work()


@given(st.integers(min_value=1, max_value=10_000), st.sampled_from(Stage))
def test_pauses_double_up_to_a_minute_and_to_five_where_signing_in_fails(failures, stage):
    longest = 300 if stage is Stage.AUTH else 60

    seconds = pause_seconds(failures, stage)

    assert seconds == min(longest, 10 * 2 ** min(failures - 1, 10))


def test_a_relay_that_refuses_connections_for_ten_minutes_loses_nothing_and_costs_nothing(
    work, deliver_to
):
    queued = [emails.enqueue(message(f"{number}@example.com")) for number in range(50)]
    with database_clock(NOON) as clock:
        with unused_port() as port:
            deliver_to(port)
            pass_time(clock, work, minutes=10)
            channel = EmailChannel.objects.get()
            tries = channel.failures
            waiting = states()
        with ScriptedServer(port=port) as server:
            pass_time(clock, work, minutes=1.5)

    assert tries <= 20  # two a minute; four handlers at once were one failure
    assert waiting == {("pending", 0)}
    assert "refused" in channel.last_error
    assert channel.next_try_at - channel.failed_at <= dt.timedelta(minutes=1)
    assert sorted(mail.recipients for mail in server.mails) == sorted(
        (row.recipients[0]["address"],) for row in queued
    )
    assert states() == {("sent", 0)}
    assert EmailChannel.objects.filter(paused_at__isnull=True, failures=0).exists()


def test_an_hour_without_a_relay_is_a_few_connections_a_minute_and_nothing_terminal(
    work, deliver_to
):
    for number in range(50):
        emails.enqueue(message(f"{number}@example.com"))
    with ScriptedServer(script=lambda step: DROP if step.stage == "connect" else None) as server:
        deliver_to(server.port)
        with database_clock(NOON) as clock:
            pass_time(clock, work, minutes=60, poll_seconds=60)

    assert server.connections <= 60 + 10
    assert states() == {("pending", 0)}


def test_credentials_refused_for_five_minutes_lose_nothing(work, settings):
    for number in range(5):
        emails.enqueue(message(f"{number}@example.com"))
    with ScriptedServer(credentials=("shop", "right"), extensions=("AUTH PLAIN LOGIN",)) as server:
        settings.EMAIL_DELIVERY_URL = f"smtp://shop:wrong@127.0.0.1:{server.port}"
        with database_clock(NOON) as clock:
            pass_time(clock, work, minutes=5)
            waiting, channel, tries = states(), EmailChannel.objects.get(), server.connections
            # Right credentials are another channel: nobody waits for the old one's pause.
            settings.EMAIL_DELIVERY_URL = f"smtp://shop:right@127.0.0.1:{server.port}"
            work()

    assert waiting == {("pending", 0)}
    assert tries <= 12
    assert channel.last_code == 535
    assert "wrong" not in channel.address
    assert states() == {("sent", 0)}


def test_a_server_that_closes_at_the_second_mail_has_sent_one_and_the_rest_waits(
    work, deliver_to, settings
):
    settings.EMAIL_CONNECTIONS = 1
    rows = [emails.enqueue(message(f"{number}@example.com")) for number in range(5)]

    def script(step):
        second = step.stage == "MAIL" and step.mail == 2
        return "421 4.3.2 shutting down" if second else None

    with ScriptedServer(script=script) as server:
        deliver_to(server.port)
        with database_clock(NOON) as clock:
            work()
            first, *rest = EmailJob.objects.order_by("pk").values_list("status", "attempts")
            clock.advance(seconds=61)
            work()

    assert first == ("sent", 0)
    assert rest == [("pending", 0)] * 4
    assert states() == {("sent", 0)}
    assert len(server.mails) == len(rows)


def test_the_log_says_once_that_the_channel_is_paused_and_once_that_it_is_up(
    work, deliver_to, caplog
):
    for number in range(8):
        emails.enqueue(message(f"{number}@example.com"))
    caplog.set_level(logging.INFO, "emails")
    with database_clock(NOON) as clock:
        with unused_port() as port:
            deliver_to(port)
            pass_time(clock, work, minutes=5)
        with ScriptedServer(port=port):
            pass_time(clock, work, minutes=2)

    events = [record.getMessage().split(" ")[0] for record in caplog.records]
    assert events == ["channel_paused", "channel_resumed"]


def test_a_mail_at_which_the_server_always_hangs_up_does_not_keep_others_from_going_out(
    work, deliver_to, settings
):
    settings.EMAIL_CONNECTIONS = 1
    bad = emails.enqueue(message("bad@example.com"))
    for number in range(6):
        emails.enqueue(message(f"{number}@example.com"))

    def script(step):
        hangs_up = step.stage == "RCPT" and "bad@" in step.argument
        return "421 4.3.0 something is wrong here" if hangs_up else None

    with ScriptedServer(script=script) as server:
        deliver_to(server.port)
        with database_clock(NOON) as clock:
            pass_time(clock, work, minutes=3)
            sent = EmailJob.objects.filter(status="sent").count()
            bad.refresh_from_db()
            young = (bad.status, bad.attempts)
            # A day later such a failure is the mail's own.
            clock.advance(days=1)
            pass_time(clock, work, minutes=180, poll_seconds=900)

    assert sent == 6
    assert young == ("pending", 0)
    bad.refresh_from_db()
    assert (bad.status, bad.attempts, bad.next_retry_at) == ("failed", 5, None)


@pytest.mark.django_db(transaction=True)
def test_one_worker_of_many_tries_a_channel_whose_pause_is_over():
    Channel(URL).fail(REFUSED)
    EmailChannel.objects.update(next_try_at="2020-01-01T00:00:00Z")
    barrier = threading.Barrier(8)
    admissions = []

    def ask() -> None:
        barrier.wait(10)
        admissions.append(Channel(URL).admit())
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert sorted(each.value for each in admissions) == ["probe", *["shut"] * 7]


@pytest.mark.django_db
def test_failures_of_mails_in_flight_together_are_one_failure():
    for _ in range(4):
        Channel(URL).fail(REFUSED)

    channel = EmailChannel.objects.get()
    assert channel.failures == 1
    assert channel.next_try_at - channel.paused_at <= dt.timedelta(seconds=11)


@pytest.mark.django_db
def test_a_probe_that_fails_pauses_longer_and_one_that_works_resumes_for_all():
    with database_clock(NOON) as clock:
        first = Channel(URL).fail(REFUSED)
        clock.advance(seconds=11)
        prober = Channel(URL)
        admitted = prober.admit()
        second = prober.fail(ChannelError(stage=Stage.GREETING, reply=parse_reply(421, b"busy")))
        clock.advance(seconds=21)
        other = Channel(URL)
        again = other.admit()
        resumed, twice = other.work(), other.work()

        assert (first, second) == (10_000, 20_000)
        assert (admitted, again) == (Admission.PROBE, Admission.PROBE)
        assert (resumed, twice) == (True, False)
        assert Channel(URL).admit() is Admission.OPEN


@pytest.mark.django_db
def test_a_worker_that_dies_while_it_tries_leaves_the_try_to_another():
    with database_clock(NOON) as clock:
        Channel(URL).fail(REFUSED)
        clock.advance(seconds=11)
        assert Channel(URL).admit() is Admission.PROBE

        clock.advance(minutes=2)
        assert Channel(URL).admit() is Admission.SHUT
        clock.advance(minutes=2)
        assert Channel(URL).admit() is Admission.PROBE


def test_a_probe_without_mail_leaves_the_channel_to_the_next_mail(work, deliver_to):
    row = emails.enqueue(message())
    with database_clock(NOON) as clock:
        with unused_port() as port:
            deliver_to(port)
            work()
        EmailJob.objects.filter(pk=row.pk).update(status="cancelled", next_retry_at=None)
        clock.advance(minutes=1)
        work()
        emails.enqueue(message("b@example.com"))
        with ScriptedServer(port=port):
            work()

    assert states() == {("cancelled", 0), ("sent", 0)}
