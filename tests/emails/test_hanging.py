"""A server that says nothing any more holds up its own mail for a while, and nothing else."""

from __future__ import annotations

import functools
import threading
import time

import pytest
from django.db import connection, connections

import emails
import emails.smtp
from emails.channel import Channel
from emails.claiming import MailPass
from emails.delivery import open_transport, parse_delivery_url
from emails.models import EmailJob
from emails.policy import email_policy
from emails.processor import MailWork
from emails.smtp import Timeouts
from jobs.context import RunContext
from jobs.declarations import registry
from jobs.models.run import Trigger
from jobs.workers.handlers import HandlerThreads
from tests.conftest import wait_until
from tests.emails.conftest import message
from tests.emails.smtpd import HANG, ScriptedServer

SECONDS = 4.0
OTHERS = 6


@pytest.fixture(autouse=True)
def _short_patience(monkeypatch, transactional_db, queue_backend, settings):
    short = functools.partial(
        Timeouts, connect=SECONDS, command=SECONDS, data=SECONDS, final=SECONDS
    )
    monkeypatch.setattr(emails.smtp, "Timeouts", short)
    settings.EMAIL_CONNECTIONS = 1
    settings.RETRY_BACKOFF_MS = (600_000,)


class Worker(threading.Thread):
    """One worker with a handler of its own, for one pass."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        policy = email_policy()
        context = RunContext(declaration=registry.get("emails.processor"), trigger=Trigger.SCHEDULE)
        url = parse_delivery_url(f"smtp://127.0.0.1:{port}")
        self.transport = open_transport(url, connections=1)
        work = MailWork(context, self.transport, Channel(url))
        self._pass = MailPass(context, policy, work)
        self._pass._threads = HandlerThreads("worker-of-a-test", size=1)
        self.seconds = 0.0

    def run(self) -> None:
        began = time.monotonic()
        self._pass.run()
        self.seconds = time.monotonic() - began
        self.transport.close()
        connections.close_all()


def oldest_transaction_seconds() -> float:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)"
            " FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        return float(cursor.fetchone()[0])


@pytest.mark.parametrize("stage", ["DATA", "dot"])
def test_while_one_worker_waits_for_its_server_another_delivers_the_rest(stage):
    for number in range(OTHERS + 1):
        emails.enqueue(message(f"{number}@example.com"))
    with (
        ScriptedServer(script=lambda step: HANG if step.stage == stage else None) as stuck,
        ScriptedServer() as good,
    ):
        first = Worker(stuck.port)
        first.start()
        wait_until(lambda: stage in stuck.stages(), what="the server hangs")
        other = None
        oldest = 0.0
        while first.is_alive():
            oldest = max(oldest, oldest_transaction_seconds())
            waits = EmailJob.objects.filter(status="pending").count()
            if waits == OTHERS and other is None:
                other = Worker(good.port)
                other.start()
            if other is not None and len(good.mails) == OTHERS:
                delivered_meanwhile = EmailJob.objects.filter(status="processing").exists()
                break
            time.sleep(0.05)
        first.join(30)
        assert other is not None
        other.join(30)

    assert delivered_meanwhile
    assert oldest < 1
    assert first.seconds < SECONDS + 10
    counted = EmailJob.objects.order_by("pk").values_list(
        "status", "attempts", "possible_duplicate"
    )
    assert list(counted) == [("failed", 1, stage == "dot")] + [("sent", 0, False)] * OTHERS


def test_a_server_that_hangs_after_its_greeting_pauses_the_channel_and_costs_no_attempt():
    for number in range(3):
        emails.enqueue(message(f"{number}@example.com"))
    with ScriptedServer(script=lambda step: HANG if step.stage == "EHLO" else None) as stuck:
        worker = Worker(stuck.port)
        worker.start()
        wait_until(lambda: "EHLO" in stuck.stages(), what="the server hangs")
        oldest = 0.0
        while worker.is_alive():
            oldest = max(oldest, oldest_transaction_seconds())
            time.sleep(0.05)

    assert oldest < 1
    assert worker.seconds < SECONDS + 10
    assert stuck.connections == 1
    assert set(EmailJob.objects.values_list("status", "attempts")) == {("pending", 0)}
