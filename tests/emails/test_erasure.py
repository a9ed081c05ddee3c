"""Erasing a person's mail: waiting mail is cancelled, of the rest only proof is left."""

from __future__ import annotations

import datetime as dt

import pytest

import emails
from emails.erasure import Erased
from emails.models import EmailBody, EmailJob
from jobs.clock import Now
from tests.emails.conftest import message
from tests.emails.smtpd import ScriptedServer
from tests.factories import EmailBodyFactory, EmailJobFactory
from tests.factories.emails import recipient

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queue_backend")]
PERSONAL = ("ada", "Ada", "order 12")


def mail_of(**fields):
    given = {
        "user_id": "7",
        "subject": "order 12",
        "to_display": "Ada <ada@example.com>",
        "recipients": [
            recipient("Ada@Example.com", state="accepted", code=250,
                      text="250 ok for ada@example.com", at="2026-11-30T12:00:00+00:00")
        ],
    }  # fmt: skip
    row = EmailJobFactory(**(given | fields))
    EmailBodyFactory(email=row)
    return row


def everything_known(row: EmailJob) -> str:
    row.refresh_from_db()
    body = EmailBody.objects.filter(pk=row.pk).values_list("raw", flat=True).first()
    texts = (row.subject, row.to_display, row.last_error, row.recipients, bytes(body or b""))
    return repr(texts)


def test_waiting_mail_is_cancelled_and_of_all_mail_ids_codes_and_times_are_left():
    rows = [
        mail_of(sent=True),
        mail_of(recipients=[recipient("ada@example.com")]),
        mail_of(dead=True, last_error="ada@example.com: 550 no"),
        mail_of(retrying=True, recipients=[recipient("ada@example.com")]),
        mail_of(cancelled=True),
    ]
    other = mail_of(user_id="77", sent=True)
    ids = [row.message_id for row in rows]

    done = emails.erase_user_mail(7)
    again = emails.erase_user_mail(7)

    assert done == Erased(cancelled=3, blanked=5, in_progress=0)
    assert again == Erased(cancelled=0, blanked=0, in_progress=0)
    for row in rows:
        assert not any(word in everything_known(row) for word in PERSONAL)
    assert [row.status for row in rows] == ["sent", *["cancelled"] * 4]
    assert [row.message_id for row in rows] == ids
    assert rows[0].sent_at
    assert rows[0].recipients == [
        {"address": "", "domain": "", "state": "accepted", "code": 250,
         "at": "2026-11-30T12:00:00+00:00"}
    ]  # fmt: skip
    assert "order 12" in everything_known(other)


def test_mail_to_an_address_of_the_user_is_found_in_any_spelling_and_others_keep_theirs():
    alone = mail_of(user_id="", sent=True)
    shared_sent = mail_of(
        user_id="", sent=True,
        recipients=[recipient("ben@example.com", state="accepted"), recipient("ada@example.com")],
    )  # fmt: skip
    shared = emails.enqueue(message("ada@example.com", "ben@example.com", subject="party"))

    done = emails.erase_user_mail("7", ["ADA@example.com"])
    again = emails.erase_user_mail("7", ["ADA@example.com"])

    assert done == Erased(cancelled=0, blanked=3, in_progress=0)
    assert again == Erased(cancelled=0, blanked=0, in_progress=0)
    assert not any(word in everything_known(alone) for word in PERSONAL)
    assert "ada" not in everything_known(shared_sent).lower()
    shared.refresh_from_db()
    assert shared.status == "pending"
    assert [(item["address"], item["state"]) for item in shared.recipients] == [
        ("", "suppressed"), ("ben@example.com", "pending"),
    ]  # fmt: skip
    assert EmailBody.objects.filter(pk=shared.pk).exists()


def test_a_mail_that_a_worker_holds_is_counted_and_erased_the_next_time():
    held = mail_of(processing=True, recipients=[recipient("ada@example.com")])

    first = emails.erase_user_mail(7, ["ada@example.com"])
    EmailJob.objects.filter(pk=held.pk).update(
        status="sent", sent_at=Now(), claimed_at=None, claimed_by=None, claim_token=None
    )
    second = emails.erase_user_mail(7, ["ada@example.com"])

    assert (first.in_progress, first.blanked) == (1, 0)
    assert (second.in_progress, second.blanked) == (0, 1)
    assert "ada" not in everything_known(held).lower()


def test_an_erasure_goes_through_more_rows_than_one_batch(monkeypatch):
    monkeypatch.setattr("emails.erasure.BATCH", 3)
    monkeypatch.setattr("emails.erasure.SCANNED_AT_ONCE", 4)
    for number in range(10):
        mail_of(sent=True, user_id="7" if number % 2 else "")

    done = emails.erase_user_mail(7, ["ada@example.com"])

    assert done.blanked == 10
    assert not EmailJob.objects.exclude(subject="").exists()
    assert not EmailBody.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_erased_mail_to_several_still_reaches_the_others(work, deliver_to):
    row = emails.enqueue(message("ada@example.com", "ben@example.com"))
    emails.erase_user_mail(None, ["ada@example.com"])

    with ScriptedServer() as server:
        deliver_to(server.port)
        work()

    assert [mail.recipients for mail in server.mails] == [("ben@example.com",)]
    row.refresh_from_db()
    assert (row.status, row.outcome) == ("sent", "partial")
    assert row.sent_at > dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
