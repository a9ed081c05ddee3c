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
WARM_UP = 500  # mails, before those that count
LONGEST_SECONDS = 120.0
# Asked again and again beside what is measured, so it ends at the first such row.
MORE = "SELECT EXISTS (SELECT FROM email_jobs WHERE status IN ('pending', 'processing'))"
SPAN = """
    SELECT count(*) FILTER (WHERE status = 'sent'),
           extract(epoch FROM max(sent_at) - min(sent_at))
    FROM email_jobs
"""


def mail(*, count: int, connections: int, pipelining: bool = True) -> float:
    """
    Return the mails per second of a worker, from the first that was sent to the last.

    Each mail's outcome is committed before the final dot of the next goes over its connection.
    The worker and its connections have sent some before.
    """
    with sink(pipelining=pipelining) as port, _worker(port, connections):
        _send_all(WARM_UP)
        return _send_all(count)


def smtplib_alone(*, count: int, connections: int, pipelining: bool = True) -> float:
    """Return the mails per second of smtplib, whose outcomes nobody writes down."""
    raw = _message(0).message().as_bytes()
    with sink(pipelining=pipelining) as port:
        threads = [
            threading.Thread(target=_send, args=(port, raw, count // connections))
            for _ in range(connections)
        ]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return count / (time.perf_counter() - began)


def _worker(port: int, connections: int):
    return workers(
        1,
        JOB,
        EMAIL_DELIVERY_URL=f"smtp://127.0.0.1:{port}",
        EMAIL_CONNECTIONS=str(connections),
    )


def _send_all(count: int) -> float:
    """Lay out so many mails while the job pauses, have them sent, return how many a second."""
    pausing.pause(JOB, actor="bench", reason="laying out")
    database.execute("TRUNCATE email_jobs CASCADE")
    with transaction.atomic():
        enqueue_all(_message(place) for place in range(count))
        database.execute("ANALYZE email_jobs, email_bodies")
    database.checkpoint()
    pausing.resume(registry.get(JOB))
    wait_until(lambda: not database.value(MORE), seconds=LONGEST_SECONDS)
    with connection.cursor() as cursor:
        cursor.execute(SPAN)
        sent, lasted = cursor.fetchone()
    if sent != count:
        raise RuntimeError(f"{sent} of {count} mails are sent")
    return count / float(lasted)


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
