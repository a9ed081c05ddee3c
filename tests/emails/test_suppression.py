"""Who gets nothing: looked at when mail is queued, and again when it is sent."""

from __future__ import annotations

import datetime as dt

import pytest
from django.core import mail
from hypothesis import given
from hypothesis import strategies as st

import emails
from emails.errors import InvalidAddress, InvalidOption
from emails.models import EmailBody, EmailJob, EmailSuppression
from emails.suppression import Entry, unsubscribe
from jobs.testing import database_clock
from tests.emails.conftest import message
from tests.emails.smtpd import ScriptedServer


@pytest.fixture
def server(deliver_to):
    with ScriptedServer() as server:
        deliver_to(server.port)
        yield server


def outcome(row: EmailJob) -> tuple[str, str, list[str]]:
    row.refresh_from_db()
    return row.status, row.outcome, [item["state"] for item in row.recipients]


def reached(server: ScriptedServer) -> list[tuple[str, ...]]:
    return [mail.recipients for mail in server.mails]


@pytest.mark.parametrize(
    ("suppressed", "mailed"),
    [
        ("Ada@Example.COM", "ada@example.com"),
        ("ada@example.com", "ADA@EXAMPLE.com"),
        ("jo@bücher.example", "jo@xn--bcher-kva.example"),
        ("jo@XN--BCHER-KVA.example", "jo@BÜCHER.example"),
        ("jörg@example.com", "JO\u0308RG@example.com"),
        ("Ada Lovelace <ada@example.com>", '"Countess" <ada@example.com>'),
    ],
)
@pytest.mark.django_db
def test_a_suppressed_address_gets_nothing_in_either_spelling(suppressed, mailed):
    emails.suppress(suppressed)

    row = emails.enqueue(message(mailed))

    assert outcome(row) == ("cancelled", "suppressed", ["suppressed"])
    assert not EmailBody.objects.filter(pk=row.pk).exists()


def test_an_address_suppressed_after_the_mail_was_queued_gets_nothing(work, server):
    alone = emails.enqueue(message("ada@bücher.example"))
    several = emails.enqueue(message("ada@bücher.example", "ben@example.com"))
    emails.record_bounce("ADA@xn--bcher-kva.EXAMPLE", detail="550 5.1.1 no such user")

    work()

    assert reached(server) == [("ben@example.com",)]
    assert outcome(alone) == ("cancelled", "suppressed", ["suppressed"])
    assert outcome(several) == ("sent", "partial", ["suppressed", "accepted"])
    assert alone.attempts == 0
    assert alone.next_retry_at is None


def test_a_mail_left_with_refused_and_suppressed_recipients_is_a_dead_letter(work, server):
    row = emails.enqueue(message("bad@example.com", "grey@example.com"))

    def script(step):
        if step.stage != "RCPT":
            return None
        return "550 5.1.1 no such user" if "bad@" in step.argument else "451 4.3.0 later"

    server.script = script
    work()
    emails.suppress("grey@example.com")
    EmailJob.objects.update(next_retry_at=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))

    work()

    assert outcome(row) == ("failed", "", ["refused", "suppressed"])
    assert row.next_retry_at is None
    assert "550 5.1.1" in row.last_error


def test_send_mail_to_a_suppressed_address_is_counted_and_not_sent(work, server):
    emails.suppress("ada@example.com")

    assert mail.send_mail("s", "b", "shop@example.org", ["ada@example.com"]) == 1
    work()

    assert reached(server) == []


def test_an_unsubscription_stops_list_mail_and_nothing_else(work, server):
    unsubscribe("ada@example.com", list_name="newsletter")
    unsubscribe("ben@example.com")
    expected = {
        "newsletter": emails.enqueue(message("ada@example.com"), unsubscribe="newsletter"),
        "digest": emails.enqueue(message("ada@example.com"), unsubscribe="digest"),
        "own header": emails.enqueue(
            message("ada@example.com", headers={"List-Unsubscribe": "<https://example.org/u>"})
        ),
        "every list": emails.enqueue(message("ben@example.com"), unsubscribe="digest"),
        "reset": emails.enqueue(message("ada@example.com", "ben@example.com")),
    }

    work()

    assert {name: outcome(row)[0] for name, row in expected.items()} == {
        "newsletter": "cancelled",
        "digest": "sent",
        "own header": "cancelled",
        "every list": "cancelled",
        "reset": "sent",
    }


@pytest.mark.django_db
def test_a_suppression_ends_at_its_time_and_when_it_is_taken_back():
    until = dt.datetime.now(dt.UTC) + dt.timedelta(days=7)
    emails.suppress("ada@example.com", until=until)
    emails.suppress("ben@example.com", reason="erasure")
    emails.suppress("ben@example.com")

    assert outcome(emails.enqueue(message("ada@example.com")))[0] == "cancelled"
    with database_clock(until + dt.timedelta(seconds=1)):
        assert outcome(emails.enqueue(message("ada@example.com")))[0] == "pending"
    assert emails.unsuppress("BEN@example.com", reason="erasure") == 1
    assert outcome(emails.enqueue(message("ben@example.com")))[0] == "cancelled"
    assert emails.unsuppress("ben@example.com") == 1
    assert outcome(emails.enqueue(message("ben@example.com")))[0] == "pending"


@pytest.mark.parametrize(
    ("kind", "suppressed"), [("hard", True), ("complaint", True), ("soft", False)]
)
@pytest.mark.django_db
def test_a_bounce_is_taken_in_by_its_kind(kind, suppressed):
    assert emails.record_bounce("ada@example.com", kind=kind) is suppressed
    assert emails.record_bounce("Ada@example.com", kind=kind) is suppressed

    assert EmailSuppression.objects.count() == int(suppressed)


NAIVE = dt.datetime(2027, 1, 1)  # noqa: DTZ001 (what is refused)
REFUSALS = {
    "no address": (lambda: emails.suppress("nobody"), InvalidAddress),
    "no reason": (lambda: emails.suppress("a@example.com", reason="spite"), InvalidOption),
    "no zone": (lambda: emails.suppress("a@example.com", until=NAIVE), InvalidOption),
    "long list": (lambda: emails.suppress("a@example.com", list_name="x" * 101), InvalidOption),
    "no kind": (lambda: emails.record_bounce("a@example.com", kind="wobbly"), InvalidOption),
    "soft, no address": (lambda: emails.record_bounce("nobody", kind="soft"), InvalidAddress),
}


@pytest.mark.parametrize(("call", "error"), REFUSALS.values(), ids=REFUSALS)
@pytest.mark.django_db
def test_what_makes_no_entry_is_refused(call, error):
    with pytest.raises(error):
        call()

    assert not EmailSuppression.objects.exists()


@given(
    scope=st.sampled_from(["everything", "lists"]),
    left=st.sampled_from(["", "news"]),
    is_list_mail=st.booleans(),
    list_name=st.sampled_from(["", "news", "digest"]),
)
def test_what_is_no_list_mail_is_stopped_only_by_what_stops_everything(
    scope, left, is_list_mail, list_name
):
    entry = Entry(reason="unsubscribe", scope=scope, list_name=left)

    stopped = entry.stops(is_list_mail=is_list_mail, list_name=list_name)

    other_list = left and list_name and left != list_name
    assert stopped == (scope == "everything" or (is_list_mail and not other_list))
