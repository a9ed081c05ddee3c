"""Mail in the admin: the list, the page of a mail, and what operators do there."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from emails.models import EmailJob
from emails.reads import get_email, list_emails
from emails.rendering import header_lines
from jobs.models import AuditLog
from tests.factories import EmailBodyFactory, EmailJobFactory, UserFactory, give
from tests.factories.emails import recipient

MAILS = "/admin/emails/emailjob/"
RETRY = f"{MAILS}verb/retry/"
CANCEL = f"{MAILS}verb/cancel/"


@pytest.fixture
def anna(db) -> Client:
    """A superuser's browser."""
    client = Client()
    client.force_login(UserFactory(username="anna", is_superuser=True))
    return client


@pytest.fixture
def observer(db) -> Client:
    """The browser of somebody who may see mail and do nothing."""
    user = UserFactory(username="otto")
    give(user, "emails.view_emailjob")
    client = Client()
    client.force_login(user)
    return client


def text_of(response) -> str:
    assert response.status_code == 200
    return response.content.decode()


def shown_ids(response) -> list[int]:
    return [row.pk for row in response.context["cl"].result_list]


def status_of(mail: EmailJob) -> str:
    mail.refresh_from_db()
    return mail.status


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["doubt", "cancelled", "dead", "retrying", "sent", "held", "deferred", "pending"]),
        ("?status=pending", ["deferred", "pending"]),
        ("?status=processing", ["held"]),
        ("?status=retrying", ["retrying"]),
        ("?status=dead", ["dead"]),
        ("?status=sent", ["doubt", "sent"]),
        ("?status=cancelled", ["cancelled"]),
        ("?duplicate=yes", ["doubt"]),
        ("?q=kind:receipt", ["pending"]),
        ("?q=user:42", ["sent"]),
        ("?q=message-id:<dead@example.org>", ["dead"]),
    ],
)
def test_each_filter_shows_exactly_its_mail(anna, query, expected):
    retrying = EmailJobFactory.build(retrying=True)
    made = {
        "pending": EmailJobFactory(kind="receipt"),
        "deferred": EmailJobFactory(next_retry_at=retrying.next_retry_at),
        "held": EmailJobFactory(processing=True),
        "sent": EmailJobFactory(sent=True, user_id="42"),
        "retrying": EmailJobFactory(retrying=True),
        "dead": EmailJobFactory(dead=True, message_id="<dead@example.org>"),
        "cancelled": EmailJobFactory(cancelled=True),
        "doubt": EmailJobFactory(sent=True, possible_duplicate=True),
    }
    names = {mail.pk: name for name, mail in made.items()}

    assert [names[key] for key in shown_ids(anna.get(f"{MAILS}{query}"))] == expected


def test_the_list_shows_the_first_recipient_and_how_many_more(anna):
    EmailJobFactory(
        dead=True,
        recipients=[recipient(f"{name}@example.com") for name in ("ada", "ben", "cleo")],
        subject="<script>alert(1)</script>",
    )

    text = text_of(anna.get(MAILS))

    assert "ada@example.com" in text
    assert "+ 2" in text
    assert "dead letter" in text
    assert "5 of 5" in text
    assert "550" in text
    assert "<script>alert(1)" not in text


def test_a_mail_shows_each_recipient_its_history_and_its_headers(anna):
    mail = EmailJobFactory(
        sent=True,
        outcome="partial",
        recipients=[
            recipient("ada@example.com", state="accepted", code=250, text="250 2.0.0 ok"),
            recipient("ben@example.com", state="refused", code=550, text="550 5.1.1 no <such>",
                      at="2026-11-30T12:00:00+00:00"),
        ],
    )  # fmt: skip
    EmailBodyFactory(email=mail)

    text = text_of(anna.get(f"{MAILS}{mail.pk}/change/"))

    for words in (
        "sent in part", "ada@example.com", "250 2.0.0 ok", "550 5.1.1 no &lt;such&gt;",
        "2026-11-30 12:00:00 UTC", "queued", "Grüße", "shop@example.org",
    ):  # fmt: skip
        assert words in text
    assert "the body of the mail" not in text


def test_a_mail_whose_body_is_pruned_still_has_its_page(anna):
    mail = EmailJobFactory(sent=True)

    text = text_of(anna.get(f"{MAILS}{mail.pk}/change/"))

    assert "The message itself is not kept any more." in text


def test_reads_say_where_a_mail_is_in_an_operators_words(db):
    EmailJobFactory(dead=True, kind="invitation")
    EmailJobFactory(retrying=True)
    EmailJobFactory(sent=True, outcome="partial")

    items = list_emails().items

    assert [item.state for item in items] == ["partial", "retrying", "dead"]
    assert [item.id for item in list_emails(state="dead", kind="invitation").items] == [items[2].id]
    assert items[2].admin_url.endswith(f"{MAILS}{items[2].id}/change/")
    assert get_email(0) is None


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\r\nbody", (("Subject", "Grüße"),)),
        (b"Subject: a\r\n b\r\nTo: x@y\r\n\r\n", (("Subject", "a b"), ("To", "x@y"))),
        (b"Subject: =?nonsense?q?x?=\r\n\r\n", (("Subject", "=?nonsense?q?x?="),)),
        (b"\xff\xfe: \r\nbroken", ()),
        (b"", ()),
    ],
)
def test_headers_are_readable_whatever_they_hold(head, expected):
    assert header_lines(head) == expected


@given(st.binary(max_size=300))
def test_headers_of_any_bytes_can_be_written_to_a_page(head):
    for name, value in header_lines(b"Subject: " + head):
        assert f"{name}: {value}".encode()


def test_buttons_are_shown_only_to_those_who_may(anna, observer):
    mail = EmailJobFactory(dead=True)
    page = f"{MAILS}{mail.pk}/change/"

    assert "Retry…" in text_of(anna.get(page))
    assert "Retry…" not in text_of(observer.get(page))
    assert "Retry all dead letters…" in text_of(anna.get(f"{MAILS}?status=dead"))
    assert "Retry all dead letters…" not in text_of(observer.get(f"{MAILS}?status=dead"))
    assert "_selected_action" not in text_of(observer.get(MAILS))


def test_a_button_for_all_is_not_where_one_ticks_boxes(anna):
    EmailJobFactory(dead=True)

    assert "Retry all dead letters…" not in text_of(anna.get(MAILS))


@pytest.mark.parametrize("address", [RETRY, CANCEL])
@pytest.mark.parametrize("method", ["get", "post"])
def test_without_the_permission_a_verb_is_forbidden(observer, address, method):
    mail = EmailJobFactory(dead=True)

    response = getattr(observer, method)(address, {"ids": mail.pk, "reason": "x"})

    assert response.status_code == 403
    assert status_of(mail) == "failed"
    assert not AuditLog.objects.exists()


def test_one_permission_is_not_the_other(db):
    user = UserFactory()
    give(user, "emails.view_emailjob", "emails.retry_emailjob")
    client = Client()
    client.force_login(user)
    mail = EmailJobFactory(dead=True)

    assert client.post(CANCEL, {"ids": mail.pk, "reason": "x"}).status_code == 403
    assert client.post(RETRY, {"ids": mail.pk, "reason": "x"}).status_code == 302


def test_the_page_of_a_verb_says_what_will_happen_and_changes_nothing(anna):
    mails = EmailJobFactory.create_batch(12, dead=True)

    text = text_of(anna.get(RETRY, {"ids": ",".join(str(mail.pk) for mail in mails)}))

    assert "12 mails." in text
    assert "The newest 10 of them" in text
    assert f"The highest id is {mails[-1].pk}" in text
    assert text.partition("console-sample")[2].count("<li>") == 10
    assert {status_of(mail) for mail in mails} == {"failed"}


def test_a_reason_is_required(anna):
    mail = EmailJobFactory(dead=True)

    response = anna.post(RETRY, {"ids": mail.pk, "reason": "  "})

    assert "Say why: the audit keeps it." in text_of(response)
    assert status_of(mail) == "failed"


def test_a_retry_is_in_the_audit_and_in_the_admins_history(anna):
    mail = EmailJobFactory(dead=True)

    response = anna.post(RETRY, {"ids": mail.pk, "reason": "the mailbox exists now"}, follow=True)

    assert "1 mail retried." in text_of(response)
    assert response.redirect_chain[-1][0] == f"{MAILS}{mail.pk}/change/"
    assert "the mailbox exists now" in text_of(response)
    assert status_of(mail) == "pending"
    entry = AuditLog.objects.get()
    assert (entry.actor, entry.via, entry.verb) == ("anna", "admin", "retry")
    logged = LogEntry.objects.get()
    assert (logged.object_id, logged.user.get_username()) == (str(mail.pk), "anna")
    assert logged.change_message == "retried: the mailbox exists now"
    assert "the mailbox exists now" in text_of(anna.get(f"{MAILS}{mail.pk}/history/"))


def test_pressing_twice_says_that_nothing_was_left(anna):
    mail = EmailJobFactory(dead=True)
    anna.post(RETRY, {"ids": mail.pk, "reason": "x"})

    response = anna.post(RETRY, {"ids": mail.pk, "reason": "x"}, follow=True)

    assert "Nothing was left to do. Left alone: " in text_of(response)
    assert (AuditLog.objects.count(), LogEntry.objects.count()) == (1, 1)


def test_ticked_rows_are_acted_on_and_no_others(anna):
    ticked, other = EmailJobFactory(dead=True), EmailJobFactory(dead=True)
    form = {"action": "retry_selected", "index": 0, "select_across": 1}

    response = anna.post(MAILS, {**form, "_selected_action": [ticked.pk]})
    assert response.headers["Location"] == f"{RETRY}?ids={ticked.pk}"
    anna.post(RETRY, {"ids": ticked.pk, "reason": "x"})

    assert (status_of(ticked), status_of(other)) == ("pending", "failed")


def test_all_dead_letters_are_those_that_the_page_showed(anna):
    first, second = EmailJobFactory.create_batch(2, dead=True)
    waiting = EmailJobFactory(retrying=True)
    text = text_of(anna.get(RETRY, {"scope": "dead"}))
    assert f'name="up_to" value="{second.pk}"' in text
    later = EmailJobFactory(dead=True)

    anna.post(RETRY, {"scope": "dead", "up_to": second.pk, "reason": "outage over"})

    assert [status_of(mail) for mail in (first, second)] == ["pending", "pending"]
    assert [status_of(mail) for mail in (waiting, later)] == ["failed", "failed"]
    assert AuditLog.objects.get().detail["count"] == 2


def test_above_1000_rows_the_number_is_typed(anna):
    _many_dead_letters(1001)

    asked = anna.post(RETRY, {"scope": "dead", "reason": "outage over"})
    assert "Type 1001 to go on" in text_of(asked)
    assert not EmailJob.objects.filter(status="pending").exists()
    form = {"scope": "dead", "up_to": asked.context["preview"].selection.up_to, "reason": "over"}
    anna.post(RETRY, {**form, "typed_count": "400"})
    assert not EmailJob.objects.filter(status="pending").exists()
    response = anna.post(RETRY, {**form, "typed_count": "1,001"}, follow=True)

    assert "1,001 mails retried." in text_of(response)
    assert EmailJob.objects.filter(status="pending").count() == 1001
    assert (AuditLog.objects.count(), LogEntry.objects.count()) == (1, 1)
    assert LogEntry.objects.get().object_repr == "1,001 mails"


def test_what_is_not_in_a_state_for_a_verb_is_said_to_be_left_alone(anna):
    dead, sent = EmailJobFactory(dead=True), EmailJobFactory(sent=True)

    shown = text_of(anna.get(CANCEL, {"ids": f"{dead.pk},{sent.pk}"}))
    done = anna.post(CANCEL, {"ids": f"{dead.pk},{sent.pk}", "reason": "x"}, follow=True)

    assert "1 of the selected are not in a state for it" in shown
    assert f"1 mail cancelled. Left alone: {sent.pk} is sent." in text_of(done)
    assert (status_of(dead), status_of(sent)) == ("cancelled", "sent")


@pytest.mark.parametrize(
    "query", ["", "ids=", "ids=a", "ids=1,x", "scope=everything", "scope=dead&up_to=x", "ids=-1"]
)
def test_a_selection_that_means_nothing_is_refused(anna, query):
    assert anna.get(f"{RETRY}?{query}").status_code == 400


def test_there_is_no_verb_that_is_not_declared(anna):
    assert anna.get(f"{MAILS}verb/delete/?ids=1").status_code == 404


def test_a_verb_is_protected_against_forged_requests(db):
    mail = EmailJobFactory(dead=True)
    client = Client(enforce_csrf_checks=True)
    client.force_login(get_user_model().objects.create_superuser("anna"))

    assert client.post(RETRY, {"ids": mail.pk, "reason": "x"}).status_code == 403
    assert status_of(mail) == "failed"


def _many_dead_letters(number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO email_jobs (status, recipients, mail_from, message_id, size) "
            'SELECT \'failed\', \'[{"address": "a@example.com", "state": "refused"}]\', '
            "'', '<' || n || '>', 1 FROM generate_series(1, %s) AS n",
            [number],
        )
