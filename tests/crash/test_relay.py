"""Real workers and a relay that goes away."""

from __future__ import annotations

import re

import pytest

import emails
from emails.models import EmailChannel, EmailJob
from tests.conftest import wait_until
from tests.crash.mails import message
from tests.emails.smtpd import ScriptedServer, ServerProcess, unused_port
from tests.forms import only_in_full

MAILS = 50


def sent() -> int:
    return EmailJob.objects.filter(status="sent").count()


def all_wait() -> bool:
    """Whether every mail is back in the queue and none has spent an attempt."""
    return set(EmailJob.objects.values_list("status", "attempts")) == {("pending", 0)}


@pytest.mark.timeout(100)
def test_two_workers_outlast_a_relay_that_refuses_connections_and_send_each_mail_once(
    make_fleet, tmp_path, figures
):
    with unused_port() as port:
        fleet = make_fleet(EMAIL_DELIVERY_URL=f"smtp://127.0.0.1:{port}")
        queued = {
            emails.enqueue(message(f"{number}@example.com")).message_id for number in range(MAILS)
        }
        workers = [fleet.start("--only", "emails.processor") for _ in range(2)]
        for worker in workers:
            worker.await_start()
        # Twice in a row: one of the two has tried it again after the first pause.
        wait_until(lambda: EmailChannel.objects.filter(failures=2).exists(), seconds=40)
        wait_until(all_wait, what="what the second try held is given back")
        tried = sum(len(worker.lines("channel_paused")) for worker in workers)
    with ServerProcess(log=tmp_path / "relay.jsonl", port=port) as relay:
        # The rest of a minute's pause is no part of this.
        EmailChannel.objects.update(next_try_at="2020-01-01T00:00:00Z")
        wait_until(lambda: sent() == MAILS, seconds=40)
        arrived = [re.search(r"Message-ID: (\S+)", mail["data"])[1] for mail in relay.mails()]
        for worker in workers:
            assert worker.stop() == 0
        figures(mails=len(arrived), pauses_logged=tried)

    assert tried == 1
    assert sorted(arrived) == sorted(queued)
    assert set(EmailJob.objects.values_list("status", "attempts")) == {("sent", 0)}
    assert sum(len(worker.lines("channel_resumed")) for worker in workers) == 1


@only_in_full
@pytest.mark.timeout(100)
def test_wrong_credentials_make_a_connection_per_pause_over_all_workers(make_fleet, figures):
    with ScriptedServer(credentials=("shop", "right"), extensions=("AUTH PLAIN",)) as relay:
        fleet = make_fleet(EMAIL_DELIVERY_URL=f"smtp://shop:wrong@127.0.0.1:{relay.port}")
        for number in range(MAILS):
            emails.enqueue(message(f"{number}@example.com"))
        workers = [fleet.start("--only", "emails.processor") for _ in range(2)]
        wait_until(lambda: EmailChannel.objects.filter(failures=2).exists(), seconds=40)
        connections = relay.connections
        wait_until(all_wait, what="what the second try held is given back")
        for worker in workers:
            assert worker.stop() == 0
        figures(connections=connections)

    # At most every handler of both workers before the first pause, and one after it.
    assert connections <= 2 * 4 + 1
    assert EmailChannel.objects.get().last_code == 535
    assert all("wrong" not in worker.output() for worker in workers)
