"""Parts that the caller made: inline images, messages, reports."""

from __future__ import annotations

import email
import email.message
import email.policy
import warnings
from email.message import MIMEPart
from email.mime.base import MIMEBase
from email.mime.image import MIMEImage
from typing import Any

import pytest
from django.core.mail import EmailMessage

from emails.errors import ForbiddenCharacter
from emails.message import build
from tests.emails.message.building import MODERN, check_wire, content, leaves, message, parse


def attach_part(target: EmailMessage, part: email.message.Message) -> None:
    """Attach a finished part, also in the old way that Django 6 warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        target.attach(part)


def test_an_inline_image_of_the_old_api_arrives_with_its_id() -> None:
    original = message()
    original.attach_alternative('<img src="cid:logo">', "text/html")
    image = MIMEImage(b"\x89PNG\r\n\x1a\n", "png")
    image.add_header("Content-ID", "<logo@example.org>")
    image.add_header("Content-Disposition", "inline", filename="logo.png")
    attach_part(original, image)

    part = leaves(build(original))[-1]

    assert part["Content-ID"] == "<logo@example.org>"
    assert part.get_content_disposition() == "inline"
    assert content(part) == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("header", ["Content-ID", "X-A", "Content-Disposition"])
def test_a_part_of_the_old_api_cannot_bring_in_a_line(header: str) -> None:
    original = message()
    part = MIMEBase("image", "png")
    part.set_payload(b"x")
    part[header] = "<a>\r\n Bcc: e@example.org"
    attach_part(original, part)

    with pytest.raises(ForbiddenCharacter):
        build(original)


@pytest.mark.skipif(not MODERN, reason="Django takes a MIMEPart since 6.0")
def test_an_inline_part_of_the_new_api_arrives_in_7_bits() -> None:
    original = message()
    part = MIMEPart()
    part.set_content("Grüße\n", cte="8bit", disposition="inline", cid="<x@example.org>")
    original.attach(part)

    built = build(original)

    found = leaves(built)[-1]
    assert found["Content-ID"] == "<x@example.org>"
    assert content(found).decode().strip() == "Grüße"
    check_wire(built.raw)


def test_an_8bit_part_of_the_old_api_is_put_into_7_bits() -> None:
    original = message()
    part = MIMEBase("text", "plain", charset="utf-8")
    part.set_payload("Grüße\n.\n".encode().decode("ascii", "surrogateescape"))
    part["Content-Transfer-Encoding"] = "8bit"
    attach_part(original, part)

    built = build(original)

    assert content(leaves(built)[-1]).decode() == "Grüße\r\n.\r\n"
    check_wire(built.raw)


FORWARDED = (
    "From: Jörg, not parseable <j@x.org\r\nTo: ä@ü.example, b\r\nSubject: Grüße\r\n"
    "Bad-Date: x\r\nContent-Type: text/plain; charset=utf-8\r\n"
    "Content-Transfer-Encoding: 8bit\r\n\r\nKäse " + "x" * 2000 + "\r\n"
).encode()


@pytest.mark.parametrize("kind", ["bytes", "str", "message", "django"])
def test_an_attached_message_is_readable_and_in_7_bits_but_not_base64(kind: str) -> None:
    inner: Any = {
        "bytes": FORWARDED,
        "str": FORWARDED.decode(),
        "message": email.message_from_bytes(FORWARDED),
        "django": EmailMessage("Grüße", "Käse " + "x" * 2000, "a@x.org", ["b@x.org"]),
    }[kind]
    original = message()
    original.attach("forwarded.eml", inner, "message/rfc822")

    built = build(original)

    holder = next(p for p in parse(built).walk() if p.get_content_type() == "message/rfc822")
    assert holder["Content-Transfer-Encoding"] in {None, "7bit"}
    assert holder.get_filename() == "forwarded.eml"
    nested = holder.get_payload(0)
    assert nested["Subject"] == "Grüße"
    assert nested.get_payload(decode=True).decode().startswith("Käse xxx")
    check_wire(built.raw)


def test_a_delivery_report_keeps_its_form() -> None:
    original = message()
    report = b"Reporting-MTA: dns; x\r\n\r\nAction: failed\r\n"
    original.attachments.append((None, report, "message/delivery-status"))

    built = build(original)

    assert b"Action: failed" in built.raw
    check_wire(built.raw)
