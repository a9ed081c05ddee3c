"""Recipients of one mail that are treated differently, and mails of one batch."""

from __future__ import annotations

import pytest

import emails
from emails.models import EmailJob
from jobs.clock import Now
from tests.conftest import wait_until
from tests.crash.mails import message


def states(mail):
    return {item["address"].partition("@")[0]: item["state"] for item in mail.recipients}


@pytest.mark.timeout(100)
def test_each_recipient_has_an_outcome_of_its_own_and_a_bad_mail_holds_up_no_other(
    make_sink, make_fleet
):
    sink = make_sink()
    fleet = make_fleet(EMAIL_DELIVERY_URL=sink.url, EMAIL_CONNECTIONS="1")
    bad = emails.enqueue(message("bad-554@example.com"))
    mixed = emails.enqueue(
        message("to@example.com", "refused-550@example.com", "grey-2@example.com")
    )
    nobody = emails.enqueue(message("refused-551@example.com", "refused-550@example.com"))
    dropped = emails.enqueue(message("drop-1@example.com"))
    good = [emails.enqueue(message(f"to+{number}@example.com")) for number in range(5)]
    worker = fleet.start("--only", "emails.processor")

    wait_until(lambda: EmailJob.objects.filter(status="sent").count() == 6)
    wait_until(lambda: EmailJob.objects.filter(pk=dropped.pk, status="failed").exists())
    wait_until(
        lambda: EmailJob.objects.filter(pk__in=[bad.pk, nobody.pk], status="failed").count() == 2
    )

    arrived = [
        mail["recipients"] for mail in sink.mails() if mail["message_id"] == mixed.message_id
    ]
    assert arrived == [["to@example.com"], ["grey-2@example.com"]]
    mixed.refresh_from_db()
    assert (mixed.status, mixed.outcome, mixed.attempts) == ("sent", "partial", 2)
    assert states(mixed) == {"to": "accepted", "refused-550": "refused", "grey-2": "accepted"}
    assert [item["code"] for item in mixed.recipients] == [250, 550, 250]
    for mail, code in ((bad, 554), (nobody, 551)):
        mail.refresh_from_db()
        assert (mail.status, mail.next_retry_at, mail.attempts) == ("failed", None, 1)
        assert mail.last_code == code
        assert mail.last_error
    for mail in good:
        mail.refresh_from_db()
        assert (mail.status, mail.attempts, sink.copies()[mail.message_id]) == ("sent", 0, 1)

    dropped.refresh_from_db()
    assert dropped.possible_duplicate
    assert (dropped.next_retry_at - dropped.created_at).total_seconds() >= 120
    EmailJob.objects.filter(pk=dropped.pk).update(next_retry_at=Now())
    wait_until(lambda: EmailJob.objects.filter(pk=dropped.pk, status="sent").exists())
    assert sink.copies()[dropped.message_id] == 2
    assert len(sink.forms()[dropped.message_id]) == 1
    assert worker.stop() == 0
