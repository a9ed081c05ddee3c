"""How delivery stands, what is in a mail and who gets nothing, in the admin."""

from __future__ import annotations

import datetime as dt

import pytest
from django.contrib.admin.models import LogEntry
from django.core.mail import EmailMultiAlternatives
from django.test import Client
from django.utils import timezone

import emails
from emails.channel import Channel
from emails.delivery import parse_delivery_url
from emails.envelopes import ChannelError
from emails.models import EmailBody, EmailChannel, EmailDomain, EmailJob, EmailSuppression
from emails.rendering import message_parts
from emails.replies import Stage
from jobs.models import AuditLog
from tests.factories import EmailBodyFactory, EmailJobFactory, UserFactory, give

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queue_backend")]
MAILS = "/admin/emails/emailjob/"
CHANNELS = "/admin/emails/emailchannel/"
LIST = "/admin/emails/emailsuppression/"
RELAY = "smtp://shop:secret@relay.example:2525"
HOSTILE = (
    '<h1>Hi</h1><script>alert("ran")</script><img src="https://tracker.example/x.png">'
    '<form action="https://evil.example/"><input name="q"></form>'
)


def browser(*permissions: str, **fields: object) -> Client:
    user = UserFactory(**fields)
    if permissions:
        give(user, *permissions)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def anna() -> Client:
    return browser(username="anna", is_superuser=True)


def text_of(response) -> str:
    assert response.status_code == 200, response.status_code
    return response.content.decode()


def pause() -> EmailChannel:
    Channel(parse_delivery_url(RELAY)).fail(
        ChannelError(stage=Stage.CONNECT, detail="connection refused")
    )
    return EmailChannel.objects.get()


def queue_html(html: str = HOSTILE) -> EmailJob:
    message = EmailMultiAlternatives("Grüße", "plain wörds", "s@example.org", ["a@example.com"])
    message.attach_alternative(html, "text/html")
    message.attach("rechnung äöü.pdf", b"%PDF-1", "application/pdf")
    return emails.enqueue(message)


def test_the_list_of_mail_says_whether_mail_goes_out(anna, settings):
    settings.EMAIL_DELIVERY_URL = ""
    assert "not configured" in text_of(anna.get(MAILS))
    settings.EMAIL_DELIVERY_URL = RELAY
    assert "</span> up<" in text_of(anna.get(MAILS))
    pause()
    EmailChannel.objects.update(paused_at=timezone.now() - dt.timedelta(minutes=3, seconds=5))
    EmailDomain.objects.create(
        domain="slow.example",
        throttled_at=timezone.now(),
        next_allowed_at=timezone.now() + dt.timedelta(minutes=1),
    )

    text = text_of(anna.get(MAILS))

    assert "</span> paused 3 min<" in text
    assert "connect: connection refused" in text
    assert "next try" in text
    assert "1 throttled domain" in text
    assert "secret" not in text


def test_a_paused_channel_is_tried_now_once_and_the_audit_says_by_whom(anna, settings):
    settings.EMAIL_DELIVERY_URL = RELAY
    channel = pause()
    page = f"{CHANNELS}{channel.pk}/change/"

    assert "Try now…" in text_of(anna.get(page))
    for _ in range(2):
        anna.post(f"{CHANNELS}verb/resume/", {"ids": channel.pk, "reason": "cable is in"})

    channel.refresh_from_db()
    assert channel.next_try_at <= timezone.now()
    (audit,) = AuditLog.objects.all()
    assert (audit.verb, audit.actor, audit.reason) == ("resume", "anna", "cable is in")
    assert "cable is in" in text_of(anna.get(page))
    assert "connection refused" in text_of(anna.get(CHANNELS))


def test_dead_letters_are_grouped_by_reason(anna):
    for number in range(3):
        EmailJobFactory(dead=True, last_error=f"u{number}@example.com: 550 5.1.1 no such user")
    newest = EmailJobFactory(dead=True, last_error="<script>: 554 5.7.1 spam")

    text = text_of(anna.get(f"{MAILS}?status=dead"))
    other = text_of(anna.get(MAILS))

    assert "&lt;address&gt;: # #.#.# no such user</th><td>3</td>" in text
    assert f'/{newest.pk}/change/">{newest.pk}</a>' in text
    assert "<script>:" not in text
    assert "no such user</th>" not in other


def test_a_mails_parts_are_shown_and_its_html_can_do_nothing(anna):
    mail = queue_html()

    page = anna.get(f"{MAILS}{mail.pk}/body/")
    document = anna.get(f"{MAILS}{mail.pk}/body/html/")

    text = text_of(page)
    assert "plain wörds" in text
    assert "rechnung äöü.pdf" in text
    assert "application/pdf" in text
    assert '<iframe class="console-mail" sandbox=""' in text
    assert "tracker.example" not in text
    assert text_of(document).strip() == HOSTILE
    policy = document.headers["Content-Security-Policy"].split("; ")
    assert "default-src 'none'" in policy
    assert "sandbox" in policy
    assert not any(part.startswith("script-src") for part in policy)
    assert document.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert document.headers["X-Content-Type-Options"] == "nosniff"
    assert "no-store" in page.headers["Cache-Control"]
    assert "Text, HTML and attachments" in text_of(anna.get(f"{MAILS}{mail.pk}/change/"))


def test_bodies_are_behind_a_permission_of_their_own():
    mail = queue_html()
    observer = browser("emails.view_emailjob")
    reader = browser("emails.view_emailjob", "emails.view_body")
    nobody = browser("emails.view_body")

    for path in ("body/", "body/html/"):
        assert observer.get(f"{MAILS}{mail.pk}/{path}").status_code == 403
        assert nobody.get(f"{MAILS}{mail.pk}/{path}").status_code == 403
        assert reader.get(f"{MAILS}{mail.pk}/{path}").status_code == 200
        assert reader.post(f"{MAILS}{mail.pk}/{path}").status_code == 403
        assert Client().get(f"{MAILS}{mail.pk}/{path}").status_code == 302
    assert "body/" not in text_of(observer.get(f"{MAILS}{mail.pk}/change/"))


def test_a_mail_without_html_or_without_its_body_says_so(anna):
    plain = EmailBodyFactory().email
    pruned = EmailJobFactory(sent=True)

    assert anna.get(f"{MAILS}{plain.pk}/body/html/").status_code == 404
    assert "iframe" not in text_of(anna.get(f"{MAILS}{plain.pk}/body/"))
    assert "not kept any more" in text_of(anna.get(f"{MAILS}{pruned.pk}/body/"))
    assert anna.get(f"{MAILS}999/body/").status_code == 404


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\r\n\r\n",
        b"Content-Type: text/plain; charset=klingon\r\n\r\nqapla' \xe4",
        b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/html\r\n\r\n<",
        b"Content-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\nx",
        b"Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\n!!!",
        b"Content-Disposition: attachment; filename*=utf-8''%00%e4\r\n\r\nx",
    ],
    ids=["nothing", "no headers", "no charset", "unclosed", "nested", "no base64", "odd name"],
)
def test_whatever_is_stored_can_be_shown(anna, raw):
    mail = EmailBodyFactory(raw=raw).email

    assert message_parts(raw).attachments is not None
    assert anna.get(f"{MAILS}{mail.pk}/body/").status_code == 200
    assert anna.get(f"{MAILS}{mail.pk}/change/").status_code == 200


def test_a_copy_is_resent_with_permission_and_audit(anna):
    mail = queue_html()
    EmailJob.objects.update(status="sent", sent_at=timezone.now())
    operator = browser("emails.view_emailjob", "emails.retry_emailjob")

    assert "Resend a copy…" in text_of(anna.get(f"{MAILS}{mail.pk}/change/"))
    assert "Resend" not in text_of(operator.get(f"{MAILS}{mail.pk}/change/"))
    given = {"ids": mail.pk, "reason": "it was lost in the post"}
    assert operator.post(f"{MAILS}verb/resend/", given).status_code == 403
    assert anna.post(f"{MAILS}verb/resend/", given).status_code == 302

    copy = EmailJob.objects.exclude(pk=mail.pk).get()
    assert copy.message_id != mail.message_id
    assert bytes(copy.body.raw) != bytes(EmailBody.objects.get(pk=mail.pk).raw)
    assert AuditLog.objects.get().detail["copies"] == [copy.pk]


def test_an_address_is_suppressed_and_removed_with_a_reason(anna):
    page = f"{LIST}suppress/"
    given = {"address": "Ada@Bücher.example", "kind": "manual", "reason": "asked by phone"}

    assert "Suppress an address…" in text_of(anna.get(LIST))
    assert 'name="address"' in text_of(anna.get(page))
    assert "there is no @" in text_of(anna.post(page, {**given, "address": "nobody"})).replace(
        "&#x27;", "'"
    )
    assert "Say why" in text_of(anna.post(page, {**given, "reason": ""}))
    assert anna.post(page, given).status_code == 302
    assert anna.post(page, given).status_code == 302
    entry = EmailSuppression.objects.get()
    assert entry.address == "ada@xn--bcher-kva.example"
    assert "asked by phone" in text_of(anna.get(f"{LIST}{entry.pk}/change/"))
    assert entry.address in text_of(anna.get(f"{LIST}?q=ADA@b%C3%BCcher.example"))

    removal = {"ids": entry.pk, "reason": "called again"}
    anna.post(f"{LIST}verb/unsuppress/", removal)

    assert not EmailSuppression.objects.exists()
    assert list(AuditLog.objects.order_by("pk").values_list("verb", "reason")) == [
        ("suppress", "asked by phone"),
        ("unsuppress", "called again"),
    ]
    assert LogEntry.objects.count() == 2


def test_the_suppression_list_is_changed_only_with_permission():
    entry = emails.suppress("ada@example.com")
    observer = browser("emails.view_emailsuppression")

    assert "Suppress an address" not in text_of(observer.get(LIST))
    assert observer.get(f"{LIST}suppress/").status_code == 403
    answer = observer.post(f"{LIST}verb/unsuppress/", {"ids": entry.pk, "reason": "x"})
    assert answer.status_code == 403
    assert EmailSuppression.objects.exists()
