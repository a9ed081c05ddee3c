"""Mail queued, and delivered by one pass at a time."""

from __future__ import annotations

import functools

from django.core.mail import EmailMessage
from django.db import connections

import emails
from emails.models import EmailJob
from emails.processor import process
from emails.smtp import Timeouts
from jobs.clock import Now, ago
from jobs.context import RunContext
from jobs.declarations import registry
from jobs.models.run import Trigger

HALF_A_SECOND = functools.partial(Timeouts, connect=0.5, command=0.5, data=0.5, final=0.5)


def queue(*recipients, body="On its way.", **options):
    mail = EmailMessage("An order", body, "shop@example.com", list(recipients))
    return emails.enqueue(mail, **options)


def new_context():
    return RunContext(declaration=registry.get("emails.processor"), trigger=Trigger.SCHEDULE)


def deliver():
    """Run one pass; return what it counted."""
    context = new_context()
    process(context)
    return dict(context.counts)


def process_apart(context):
    """Run a pass on a thread of its own."""
    try:
        process(context)
    finally:
        connections.close_all()


def make_due():
    EmailJob.objects.filter(next_retry_at__isnull=False).update(next_retry_at=ago(1000))


def waits_seconds(mail):
    """Return for how long the mail still waits, by the database's clock."""
    row = EmailJob.objects.annotate(now=Now()).get(pk=mail.pk)
    return (row.next_retry_at - row.now).total_seconds()


def at(stage, answer, *, times=1):
    """Make a script that gives an answer at a stage, the first so many times."""
    given = []

    def script(step):
        if step.stage != stage or len(given) >= times:
            return None
        given.append(step)
        return answer

    return script
