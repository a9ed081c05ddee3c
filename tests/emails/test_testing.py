"""What a project's own tests may ask of the queue."""

from __future__ import annotations

import pytest
from django.core import mail

import emails
from jobs.testing import assert_mail_queued
from tests.emails.conftest import message

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queue_backend")]


def test_queued_mail_is_found_by_recipient_subject_kind_and_count():
    mail.send_mail("Your order 12", "b", "shop@example.org", ["Ada@example.com"])
    emails.enqueue(message("ada@example.com", "ben@bücher.example"), kind="invoice")

    (order,) = assert_mail_queued(to="ada@EXAMPLE.com", subject="order 12")
    assert order.subject == "Your order 12"
    assert_mail_queued(to=["ada@example.com", "ben@xn--bcher-kva.example"], kind="invoice", count=1)
    assert_mail_queued(to="ada@example.com", count=2)
    assert_mail_queued(to="carl@example.com", count=0)
    assert mail.outbox == []


def test_a_failure_lists_what_is_queued():
    emails.enqueue(message("ada@example.com", subject="Hello"), kind="greeting")

    with pytest.raises(AssertionError) as failure:
        assert_mail_queued(to="ben@example.com", subject="Hi", count=2)

    text = str(failure.value)
    assert "2 mails with to='ben@example.com', subject='Hi' should be queued, found 0" in text
    assert "pending to ada@example.com subject='Hello' kind='greeting'" in text


def test_a_failure_says_when_nothing_is_queued():
    with pytest.raises(AssertionError, match="Nothing is queued"):
        assert_mail_queued()
