"""Rows of the email queue."""

from __future__ import annotations

import datetime as dt
import uuid

import factory
from django.utils import timezone

from emails.models import EmailBody, EmailJob


def recipient(address: str, **known: object) -> dict[str, object]:
    """Return an entry of ``recipients``."""
    domain = address.rpartition("@")[2]
    return {"address": address, "domain": domain, "state": "pending", **known}


class EmailJobFactory(factory.django.DjangoModelFactory):
    """A mail that waits; traits for its other states."""

    class Meta:
        model = EmailJob

    class Params:
        dead = factory.Trait(
            status="failed",
            attempts=5,
            last_code=550,
            last_error="ben@example.com: 550 5.1.1 no such user",
        )
        retrying = factory.Trait(
            status="failed",
            attempts=1,
            last_code=450,
            last_error="ben@example.com: 450 4.2.0 greylisted",
            next_retry_at=factory.LazyFunction(lambda: timezone.now() + dt.timedelta(minutes=2)),
        )
        processing = factory.Trait(
            status="processing",
            claimed_at=factory.LazyFunction(timezone.now),
            claimed_by="web-1:4121:a1b2c3",
            claim_token=factory.LazyFunction(uuid.uuid4),
        )
        sent = factory.Trait(status="sent", sent_at=factory.LazyFunction(timezone.now))
        cancelled = factory.Trait(status="cancelled")

    recipients = factory.LazyFunction(lambda: [recipient("ben@example.com")])
    mail_from = "shop@example.org"
    message_id = factory.Sequence(lambda n: f"<{n}@example.org>")
    subject = "Your order"
    to_display = "ben@example.com"
    size = 812


class EmailBodyFactory(factory.django.DjangoModelFactory):
    """The bytes of a mail."""

    class Meta:
        model = EmailBody

    email = factory.SubFactory(EmailJobFactory)
    raw = (
        b"From: Shop <shop@example.org>\r\nTo: ben@example.com\r\n"
        b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\r\nthe body of the mail\r\n"
    )
