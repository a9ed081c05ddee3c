"""Putting mail in."""

from __future__ import annotations

import datetime as dt

import pytest
from django.core import mail
from django.core.mail import EmailMessage, EmailMultiAlternatives
from django.db import transaction

import emails
from emails.backend import QueueBackend
from emails.errors import InvalidOption
from emails.models import EmailBody, EmailJob

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queue_backend")]


def message(**options):
    fields = {
        "subject": "Grüße",
        "body": "Hallo",
        "from_email": "shop@example.com",
        "to": ["a@example.com"],
    }
    return EmailMessage(**(fields | options))


def test_send_mail_queues_in_the_callers_transaction():
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        assert mail.send_mail("s", "b", "shop@example.com", ["a@example.com"]) == 1
        assert EmailJob.objects.count() == 1
        raise ZeroDivisionError

    assert EmailJob.objects.count() == 0


def test_a_row_has_the_envelope_and_the_finished_bytes():
    row = emails.enqueue(message(cc=["b@example.com"], bcc=["c@bücher.example"]), kind="order")

    row.refresh_from_db()
    assert (row.status, row.attempts, row.max_attempts, row.kind) == ("pending", 0, 5, "order")
    assert [item["address"] for item in row.recipients] == [
        "a@example.com",
        "b@example.com",
        "c@xn--bcher-kva.example",
    ]
    assert {item["state"] for item in row.recipients} == {"pending"}
    raw = bytes(row.body.raw)
    assert row.size == len(raw)
    assert b"c@" not in raw
    assert row.message_id.encode() in raw
    assert row.subject == "Grüße"


def test_no_recipients_is_no_row():
    assert message(to=[]).send() == 0
    assert emails.enqueue(message(to=[])) is None
    assert EmailJob.objects.count() == 0


def test_one_refused_mail_of_a_batch_queues_none_and_leaves_the_transaction_usable():
    good, bad = message(), message(subject="a\nBcc: evil@example.com")

    with transaction.atomic():
        with pytest.raises(ValueError, match="Subject"):
            QueueBackend().send_messages([good, bad])
        assert EmailJob.objects.count() == 0
        good.send()

    assert EmailJob.objects.count() == 1


@pytest.mark.parametrize(
    "options",
    [
        {"subject": "a\r\nX: y"},
        {"subject": "a\x00b"},
        {"subject": "\ud800"},
        {"headers": {"X-A\nBcc": "evil@example.com"}},
        {"headers": {"X-A": "b\nBcc: evil@example.com"}},
        {"headers": {"Bcc": "evil@example.com"}},
        {"headers": {"bcc": "evil@example.com"}},
        {"headers": {"Bad Name": "x"}},
        {"to": ["a@example.com\nBcc: evil@example.com"]},
        {"to": ["Lee, Kevin <k@example.com>"]},
        {"to": ["nobody"]},
        {"to": ["a@b@c"]},
        {"to": ["a\x00@example.com"]},
        {"from_email": "x\r\n@example.com"},
        {"cc": ["@example.com"]},
        {"reply_to": ["a\nb@example.com"]},
    ],
)
def test_injections_and_malformed_addresses_are_refused_in_the_caller(options):
    with transaction.atomic():
        with pytest.raises(ValueError, match=r"."):
            message(**options).send()
        assert EmailJob.objects.count() == 0
        assert EmailBody.objects.count() == 0


def test_a_nul_in_a_body_is_encoded():
    row = emails.enqueue(message(body="a\x00b"))

    assert b"\x00" not in bytes(EmailBody.objects.get(pk=row.pk).raw)


def test_the_same_idempotency_key_twice_is_one_row():
    first = emails.enqueue(message(), idempotency_key="order-1")
    second = emails.enqueue(message(subject="other"), idempotency_key="order-1")

    assert first.pk == second.pk
    assert EmailJob.objects.count() == 1


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max_attempts", 0),
        ("max_attempts", 51),
        ("priority", 40_000),
        ("kind", "x" * 101),
        ("kind", "a\x00"),
        ("user_id", "y" * 201),
        ("idempotency_key", ""),
        ("expires_at", dt.datetime(2026, 1, 1)),  # noqa: DTZ001 (what is refused)
    ],
)
def test_options_out_of_range_are_refused_by_name(option, value):
    with pytest.raises(InvalidOption, match=option):
        emails.enqueue(message(), **{option: value})

    assert EmailJob.objects.count() == 0


def test_alternatives_and_attachments_are_part_of_the_bytes():
    mixed = EmailMultiAlternatives("s", "text", "shop@example.com", ["a@example.com"])
    mixed.attach_alternative("<p>html</p>", "text/html")
    mixed.attach("a.txt", "one", "text/plain")

    mixed.send()

    raw = bytes(EmailBody.objects.get().raw)
    assert b"multipart/alternative" in raw
    assert b"a.txt" in raw
