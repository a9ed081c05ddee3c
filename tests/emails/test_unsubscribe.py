"""One-click unsubscription, as a mail service does it and as a person does it."""

from __future__ import annotations

import base64
import re

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

import emails
from emails import sealing
from emails.errors import RefusedMessage, UnsubscribeNeedsOneRecipient
from emails.models import EmailJob, EmailSuppression
from emails.unsubscribe import Subscription, subscription_of, token_of
from tests.emails.conftest import message
from tests.emails.smtpd import ScriptedServer


@pytest.fixture(autouse=True)
def _public(settings, queue_backend):
    settings.PUBLIC_URL = "https://shop.example"
    settings.ALLOWED_HOSTS = ["shop.example"]
    settings.SECURE_SSL_REDIRECT = True
    settings.ROOT_URLCONF = "tests.emails.urls"


@pytest.fixture
def service() -> Client:
    """The mail service of a receiver: no cookies, no token, and it follows no redirect."""
    return Client(enforce_csrf_checks=True, SERVER_NAME="shop.example")


def headers_of(row: EmailJob) -> str:
    return bytes(row.body.raw).partition(b"\r\n\r\n")[0].decode()


def address_of(row: EmailJob) -> str:
    found = re.search(
        r"^List-Unsubscribe: <(https://shop\.example(/\S+))>\r?$", headers_of(row), re.MULTILINE
    )
    assert found, headers_of(row)
    return found[2]


def post(service: Client, path: str):
    return service.post(
        path,
        "List-Unsubscribe=One-Click",
        content_type="application/x-www-form-urlencoded",
        secure=True,
    )


@pytest.mark.django_db
def test_list_mail_carries_both_headers_with_its_address_in_one_piece_and_nobody_readable():
    row = emails.enqueue(message("Ada@bücher.example"), unsubscribe="newsletter")

    path = address_of(row)
    assert "List-Unsubscribe-Post: List-Unsubscribe=One-Click" in headers_of(row).splitlines()
    assert (row.is_list_mail, row.list_name) == (True, "newsletter")
    for part in ("ada", "bcher", "@", "newsletter"):
        assert part not in path.lower().replace("unsubscribe", "")
    token = path.rstrip("/").rpartition("/")[2]
    assert subscription_of(token) == Subscription(
        address="ada@xn--bcher-kva.example", list_name="newsletter"
    )


def test_a_post_without_cookie_or_token_unsubscribes_and_a_password_reset_is_still_sent(
    work, deliver_to, service
):
    user = get_user_model().objects.create_user("ada", "ada@example.com", "secret")
    newsletter = emails.enqueue(message(user.email), unsubscribe="newsletter")
    digest = emails.enqueue(message(user.email), unsubscribe="digest")
    assert (
        Client(SERVER_NAME="shop.example")
        .post("/accounts/password_reset/", {"email": user.email}, secure=True)
        .status_code
        == 302
    )
    path = address_of(newsletter)

    first, second = post(service, path), post(service, path)

    assert (first.status_code, second.status_code) == (200, 200)
    assert not first.cookies
    newsletter.refresh_from_db()
    assert (newsletter.status, newsletter.outcome) == ("cancelled", "suppressed")
    assert EmailSuppression.objects.count() == 1
    with ScriptedServer() as server:
        deliver_to(server.port)
        work()
    assert len(server.mails) == 2
    assert any(b"reset" in mail.data.lower() for mail in server.mails)
    digest.refresh_from_db()
    assert digest.status == "sent"


@pytest.mark.django_db
def test_a_get_shows_a_page_and_changes_nothing(service):
    row = emails.enqueue(message("ada@example.com"), unsubscribe="newsletter")
    path = address_of(row)

    for method in (service.get, service.head):
        answer = method(path, secure=True)
        assert answer.status_code == 200
        assert not answer.cookies
    page = service.get(path, secure=True).content.decode()

    assert '<form method="post">' in page
    assert "ada@" not in page
    row.refresh_from_db()
    assert row.status == "pending"
    assert not EmailSuppression.objects.exists()


@pytest.mark.django_db
def test_an_address_that_was_never_given_out_is_refused(service):
    token = token_of(Subscription(address="ada@example.com", list_name="news"))
    other = ("B" if token[0] == "A" else "A") + token[1:]

    for wrong in (other, "x", "ä" * 30, sealing.seal('["a@b.example", ""]', purpose="other")):
        assert post(service, f"/mail/unsubscribe/{wrong}/").status_code == 404
    assert not EmailSuppression.objects.exists()


@pytest.mark.django_db
def test_an_address_still_works_when_its_mail_is_gone_and_the_key_was_replaced(service, settings):
    row = emails.enqueue(message("ada@example.com"), unsubscribe="newsletter")
    path = address_of(row)
    row.delete()
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another"

    assert post(service, path).status_code == 200
    assert EmailSuppression.objects.get().address == "ada@example.com"


@pytest.mark.parametrize("copies", [{"cc": ["b@example.com"]}, {"bcc": ["b@example.com"]}])
@pytest.mark.django_db
def test_only_mail_to_one_recipient_can_be_unsubscribed_from(copies):
    with pytest.raises(UnsubscribeNeedsOneRecipient) as refused:
        emails.enqueue(message("ada@example.com", **copies), unsubscribe="newsletter")

    assert isinstance(refused.value, ValueError)
    assert not EmailJob.objects.exists()


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\x00b"])
@pytest.mark.django_db
def test_a_list_has_a_name(name):
    with pytest.raises(RefusedMessage):
        emails.enqueue(message(), unsubscribe=name)


@pytest.mark.django_db
def test_an_unsubscription_finds_what_waits_by_an_index():
    emails.enqueue(message("ada@example.com"), unsubscribe="newsletter")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(
            "EXPLAIN SELECT id FROM email_jobs WHERE is_list_mail"
            " AND status IN ('pending', 'failed')"
            " AND lower((recipients -> 0) ->> 'address') = 'ada@example.com'"
        )
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert "email_jobs_list_waiting" in plan


@given(st.text(), st.sampled_from(["unsubscribe", "other"]))
def test_only_its_own_purpose_opens_a_sealed_text(text, purpose):
    token = sealing.seal(text, purpose="unsubscribe")

    opened = sealing.unseal(token, purpose=purpose)

    assert opened == (text if purpose == "unsubscribe" else None)
    assert re.fullmatch(r"[A-Za-z0-9_-]+", token)


@given(st.text(min_size=1), st.data())
def test_a_sealed_text_that_was_changed_stays_closed(text, data):
    raw = bytearray(base64.urlsafe_b64decode(sealing.seal(text, purpose="p") + "=="))
    place = data.draw(st.integers(min_value=0, max_value=len(raw) - 1))
    raw[place] ^= data.draw(st.integers(min_value=1, max_value=255))

    assert sealing.unseal(base64.urlsafe_b64encode(raw).decode(), purpose="p") is None
