"""Believable rows for pictures and for the browser's tests."""

from __future__ import annotations

import datetime as dt

from django.utils import timezone

from emails.models import EmailJob
from jobs.models import JobRun
from tests.factories import (
    ActivityLogFactory,
    AuditLogFactory,
    EmailBodyFactory,
    EmailJobFactory,
    JobRunFactory,
    WorkerFactory,
)
from tests.factories.emails import recipient

TRACEBACK = """SMTPServerDisconnected: Connection unexpectedly closed
  File "emails/processor.py", line 141, in _send
    result = transport.send(envelope)
  File "emails/smtp.py", line 88, in send
    reply = self._read_reply(Stage.DATA)
  File "emails/smtp.py", line 203, in _read_reply
    raise SMTPServerDisconnected("Connection unexpectedly closed")
"""


def fill() -> None:
    """Write runs, mail, workers, log lines and actions of an ordinary morning."""
    _runs()
    _mail()
    _others()


def _runs() -> None:
    now = timezone.now()
    for index in range(14):
        at = now - dt.timedelta(minutes=18 - index)
        JobRunFactory(
            trigger="notify" if index % 3 else "schedule",
            started_at=at,
            finished_at=at + dt.timedelta(seconds=0.4 + index * 1.7),
            passes=1 + index * 3 % 11,
            output={"sent": 40 + index * 7, "failed": index % 2, "released": 0},
        )
    _singletons(now)


def _singletons(now: dt.datetime) -> None:
    failed = JobRunFactory(
        failed=True,
        error=TRACEBACK,
        started_at=now - dt.timedelta(minutes=4),
        finished_at=now - dt.timedelta(minutes=3, seconds=52.5),
        stdout="resolving mail.example.org\nconnected to mail.example.org:587\n",
        output={"sent": 12, "failed": 1},
    )
    for level, message in (
        ("info", "claimed queue=email_jobs rows=13"),
        ("warning", "smtp_greeting_slow host=mail.example.org seconds=6.2"),
        ("error", "pass_failed job=emails.processor error=SMTPServerDisconnected"),
    ):
        ActivityLogFactory(
            source="email", level=level, message=message, job_id=failed.job_id, run_id=failed.pk
        )
    JobRunFactory(
        job_id="retention.sweep",
        started_at=now - dt.timedelta(minutes=3),
        finished_at=now - dt.timedelta(seconds=12),
        scheduled_for=now.replace(second=0, microsecond=0) - dt.timedelta(minutes=3),
        output={
            "job_runs": {"deleted": 4000, "batches": 2, "truncated": False},
            "sent mail": {"deleted": 51230, "batches": 26, "truncated": True},
        },
        returned=None,
    )
    JobRunFactory(
        job_id="retention.sweep", trigger="manual", requested_by="anna", reason="disk is filling",
        status="cancelled", started_at=now - dt.timedelta(minutes=2),
        finished_at=now - dt.timedelta(minutes=1, seconds=48),
    )  # fmt: skip
    JobRunFactory(job_id="retention.sweep", status="missed", started_at=None, finished_at=None)
    JobRunFactory(running=True, trigger="notify", started_at=now - dt.timedelta(seconds=2))
    JobRunFactory(
        job_id="retention.sweep", trigger="manual", requested_by="ben", status="requested",
        started_at=None, finished_at=None, claimed_by="",
    )  # fmt: skip
    assert JobRun.objects.exists()


def _mail() -> None:
    now = timezone.now()
    people = ("ada", "grace", "linus", "margaret", "edsger", "barbara", "donald", "frances")
    for index, person in enumerate(people):
        EmailJobFactory(
            sent=True,
            kind="receipt",
            subject=f"Your receipt {20260 + index}",
            recipients=[recipient(f"{person}@example.com", state="accepted", code=250)],
            to_display=f"{person}@example.com",
        )
    EmailJobFactory(
        sent=True, kind="newsletter", outcome="partial", subject="What is new in December",
        recipients=[
            recipient("ada@example.com", state="accepted", code=250, at=now.isoformat()),
            recipient("nobody@example.net", state="refused", code=550, enhanced="5.1.1",
                      text="550 5.1.1 no such user here", at=now.isoformat()),
            recipient("grace@example.com", state="accepted", code=250, at=now.isoformat()),
        ],
    )  # fmt: skip
    EmailJobFactory(
        sent=True, possible_duplicate=True, kind="receipt", subject="Your receipt 20281"
    )
    EmailJobFactory(retrying=True, kind="password reset", subject="Reset your password")
    dead = EmailJobFactory(
        dead=True, attempts=1, kind="invitation", subject="Grüße: an invitation",
        recipients=[recipient("ben@example.com", state="refused", code=550, enhanced="5.1.1",
                              text="550 5.1.1 no such user here", at=now.isoformat())],
    )  # fmt: skip
    EmailBodyFactory(email=dead)
    EmailJobFactory(cancelled=True, kind="newsletter", subject="What is new in November")
    EmailJobFactory(processing=True, kind="receipt", subject="Your receipt 20290")
    for index in range(3):
        EmailJobFactory(kind="receipt", subject=f"Your receipt {20291 + index}")
    AuditLogFactory(target=f"email_jobs {dead.pk}", reason="the address was mended by support")
    assert EmailJob.objects.exists()


def _others() -> None:
    now = timezone.now()
    WorkerFactory(claims_held=1)
    WorkerFactory(draining=True, listen="polling")
    WorkerFactory(heartbeat_at=now - dt.timedelta(minutes=7))
    WorkerFactory(stopped_at=now - dt.timedelta(hours=2), loops={})
    for index in range(12):
        ActivityLogFactory(message=f"loop_tick job=retention.sweep rows={index * 40}")
    ActivityLogFactory(level="warning", source="storage", message="delete_slow table=job_runs")
