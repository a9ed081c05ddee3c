"""Mails per second into a sink, beside bare smtplib over as many connections."""

from __future__ import annotations

import smtplib
import threading
import time

from django.core.mail import EmailMessage
from django.db import connection, transaction

from emails.queue import enqueue_all
from jobs import pausing
from jobs.declarations import registry
from tests.bench import database
from tests.bench.sink import sink
from tests.bench.workers import wait_until, workers

JOB = "emails.processor"
CONNECTIONS = 4
LONGEST_SECONDS = 120.0
SPAN = """
    SELECT count(*) FILTER (WHERE status = 'sent'),
           extract(epoch FROM max(sent_at) - min(sent_at))
    FROM email_jobs
"""


def mail(*, count: int, pipelining: bool = True) -> float:
    """
    Return the mails per second of a worker, from the first that was sent to the last.

    Each mail's outcome is committed before the final dot of the next goes over its connection.
    """
    database.execute("TRUNCATE email_jobs CASCADE")
    database.empty()
    with sink(pipelining=pipelining) as port, _paused(port):
        with transaction.atomic():
            enqueue_all(_message(place) for place in range(count))
            database.execute("ANALYZE email_jobs, email_bodies")
        database.checkpoint()
        pausing.resume(registry.get(JOB))
        wait_until(lambda: _sent()[0] == count, seconds=LONGEST_SECONDS)
        _, lasted = _sent()
    return count / lasted


def smtplib_alone(*, count: int, pipelining: bool = True) -> float:
    """Return the mails per second of smtplib, whose outcomes nobody writes down."""
    raw = _message(0).message().as_bytes()
    with sink(pipelining=pipelining) as port:
        threads = [
            threading.Thread(target=_send, args=(port, raw, count // CONNECTIONS))
            for _ in range(CONNECTIONS)
        ]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return count / (time.perf_counter() - began)


def _paused(port: int):
    """Run a worker whose job is paused until all is laid out."""
    pausing.pause(JOB, actor="bench", reason="laying out")
    return workers(
        1,
        JOB,
        EMAIL_DELIVERY_URL=f"smtp://127.0.0.1:{port}",
        EMAIL_CONNECTIONS=str(CONNECTIONS),
    )


def _message(place: int) -> EmailMessage:
    return EmailMessage(
        subject=f"Order {place}",
        body="Thank you for your order.\nIt is on its way.\n" * 10,
        from_email="shop@example.org",
        to=[f"customer{place}@example.com"],
    )


def _send(port: int, raw: bytes, count: int) -> None:
    with smtplib.SMTP("127.0.0.1", port) as client:
        for place in range(count):
            client.sendmail("shop@example.org", [f"customer{place}@example.com"], raw)


def _sent() -> tuple[int, float]:
    with connection.cursor() as cursor:
        cursor.execute(SPAN)
        sent, lasted = cursor.fetchone()
    return int(sent), float(lasted or 0)
