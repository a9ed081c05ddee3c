"""What arrives is what was put in: the whole way from the call to the server."""

from __future__ import annotations

import email
import email.policy

import pytest
from django.core.mail import EmailMultiAlternatives

import emails
from emails.models import EmailJob
from tests.emails.conftest import message
from tests.emails.smtpd import EVERYTHING, ScriptedServer

LONG_URL = "https://example.org/u?" + "a1b2c3d4e5" * 23  # 252 characters
SUBJECTS = [
    "Order 🎉 shipped 🚚",
    "ü" * 80,
    "L'été dernier, à Noël, les élèves de l'école ont reçu leurs prix : " * 4,
    "a" * 900,
]
BODY = (
    ".\n..leading dots\n.\n" + "x" * 5_000 + "\nFrom here\n" + "ümläut\t \n" + "trailing  \n\n.\n"
)
ATTACHMENTS = [
    ("same.bin", bytes(range(256)) * 40, "application/octet-stream"),
    ("same.bin", b"\r\n.\r\n\n\r\0" * 100, "application/octet-stream"),
    ("Rechnung „März“ 100 %.pdf", b"%PDF-1.7\n" + bytes(range(255, -1, -1)), "application/pdf"),
    ('odd "name"; x=y\\.tar.gz', b"\x1f\x8b", "application/x-made.up+zip"),
    ("日本語" * 30 + ".txt", "größe\n".encode(), "text/plain"),
    ("empty", b"", "image/png"),
]


def deliver(work, deliver_to, *, extensions=EVERYTHING) -> ScriptedServer:
    with ScriptedServer(extensions=extensions) as server:
        deliver_to(server.port)
        work()
    return server


def read(data: bytes) -> email.message.EmailMessage:
    return email.message_from_bytes(data, policy=email.policy.default)


@pytest.mark.parametrize("subject", SUBJECTS, ids=["emoji", "umlauts", "french", "long"])
def test_a_subject_and_a_long_unsubscribe_address_arrive_whole(work, deliver_to, subject):
    emails.enqueue(message(subject=subject, headers={"List-Unsubscribe": f"<{LONG_URL}>"}))

    (mail,) = deliver(work, deliver_to).mails

    head = mail.data.partition(b"\r\n\r\n")[0]
    assert f"List-Unsubscribe: <{LONG_URL}>\r\n".encode() in head + b"\r\n"
    assert str(read(mail.data)["Subject"]) == subject
    words = [word for word in head.split() if word.startswith(b"=?")]
    assert max(map(len, words), default=0) <= 75
    assert max(map(len, head.split(b"\r\n"))) <= 998


def test_every_byte_of_bodies_alternatives_and_attachments_arrives(work, deliver_to):
    given = EmailMultiAlternatives("Grüße", BODY, "shop@example.org", ["a@example.com"])
    given.attach_alternative("<p>ü &amp; " + "y" * 5_000 + "</p>", "text/html")
    given.attach_alternative("BEGIN:VCALENDAR\nEND:VCALENDAR\n", "text/calendar")
    for name, data, kind in ATTACHMENTS:
        given.attach(name, data, kind)
    emails.enqueue(given)

    (mail,) = deliver(work, deliver_to).mails

    arrived = read(mail.data)
    leaves = [part for part in arrived.walk() if not part.is_multipart()]
    texts = leaves[:3]
    assert texts[0].get_content().replace("\r\n", "\n").rstrip("\n") == BODY.rstrip("\n")
    assert "y" * 5_000 in texts[1].get_content()
    assert [part.get_content_type() for part in texts[1:]] == ["text/html", "text/calendar"]
    assert [
        (part.get_filename(), part.get_payload(decode=True), part.get_content_type())
        for part in leaves[3:]
    ] == ATTACHMENTS
    assert mail.data.isascii()


def test_a_domain_beyond_ascii_is_named_in_its_ascii_form(work, deliver_to):
    emails.enqueue(message("leser@bücher.example"))

    server = deliver(work, deliver_to, extensions=())

    assert [mail.recipients for mail in server.mails] == [("leser@xn--bcher-kva.example",)]


@pytest.mark.parametrize("offered", [True, False], ids=["with", "without"])
def test_a_local_part_beyond_ascii_needs_a_server_with_smtputf8(work, deliver_to, offered):
    row = emails.enqueue(message("jörg@example.com"))

    extensions = [name for name in EVERYTHING if offered or name != "SMTPUTF8"]
    server = deliver(work, deliver_to, extensions=extensions)

    row.refresh_from_db()
    if offered:
        assert row.status == "sent"
        assert [mail.recipients for mail in server.mails] == [("jörg@example.com",)]
        assert "SMTPUTF8" in server.mails[0].mail_from
    else:
        assert (row.status, row.next_retry_at, row.attempts) == ("failed", None, 1)
        assert "SMTPUTF8" in row.last_error
        assert "jörg@example.com" in row.last_error
        assert server.mails == []


def test_a_mail_above_the_servers_size_is_a_dead_letter_that_says_both_sizes(work, deliver_to):
    big = message("a@example.com")
    big.attach("big.bin", b"\xff" * 9_000_000, "application/octet-stream")  # 12 MB in base64
    row = emails.enqueue(big)

    server = deliver(work, deliver_to)

    row.refresh_from_db()
    assert row.size > 12_000_000
    assert (row.status, row.next_retry_at, row.attempts) == ("failed", None, 1)
    assert str(row.size) in row.last_error
    assert "10000000" in row.last_error
    assert "DATA" not in server.stages()


def test_a_hundred_and_fifty_recipients_get_it_once_from_a_server_that_takes_a_hundred(
    work, deliver_to
):
    everyone = [f"u{number}@example.com" for number in range(150)]
    row = emails.enqueue(message(bcc=everyone, subject="to all"))
    row_recipients = {item["address"] for item in row.recipients}
    taken: dict[int, int] = {}

    def script(step):
        if step.stage != "RCPT":
            return None
        taken[step.mail] = taken.get(step.mail, 0) + 1
        return "452 4.5.3 too many recipients" if taken[step.mail] > 100 else None

    with ScriptedServer(script=script) as server:
        deliver_to(server.port)
        work()

    got = [address for mail in server.mails for address in mail.recipients]
    assert sorted(got) == sorted(row_recipients)
    assert [len(mail.recipients) for mail in server.mails] == [100, 51]
    row.refresh_from_db()
    assert (row.status, row.outcome, row.attempts) == ("sent", "", 0)


def test_urgent_mail_goes_first(work, deliver_to, settings):
    settings.EMAIL_CONNECTIONS = 1
    for number, priority in enumerate([0, -5, 10, 0]):
        emails.enqueue(message(f"{number}@example.com"), priority=priority, kind="k")

    server = deliver(work, deliver_to)

    assert [mail.recipients[0][0] for mail in server.mails] == ["2", "0", "3", "1"]
    assert set(EmailJob.objects.values_list("kind", flat=True)) == {"k"}
