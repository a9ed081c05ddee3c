"""A message as a whole: who gets it, what it has in any case, what may be given for it."""

from __future__ import annotations

import copy
import datetime as dt
from email.message import MIMEPart
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
from django.core.mail import EmailMessage
from django.test import override_settings
from django.utils.translation import gettext_lazy

from emails.errors import BccHeader, InvalidHeaderName
from emails.message import build
from tests.emails.message.building import LONG_URL, MODERN, check_wire, content, message, parse


def test_a_plain_message_has_all_it_needs() -> None:
    built = build(message(cc=["c@example.org"], reply_to=["r@example.org"]))

    parsed = parse(built)
    assert parsed["Subject"] == built.subject == "Hello"
    assert parsed["From"] == "from@example.org"
    assert parsed["To"] == "to@example.org"
    assert parsed["Cc"] == "c@example.org"
    assert parsed["Reply-To"] == "r@example.org"
    assert parsed["MIME-Version"] == "1.0"
    assert parsed["Message-ID"] == built.message_id
    assert abs(parsedate_to_datetime(parsed["Date"]) - dt.datetime.now(dt.UTC)) < dt.timedelta(1)
    assert content(parsed).strip() == b"Some text"
    assert built.mail_from.envelope == "from@example.org"
    assert built.size == len(built.raw)
    check_wire(built.raw)


def test_recipients_are_to_cc_and_bcc_in_order_and_each_once() -> None:
    built = build(
        message(
            to=["A <a@x.org>", "b@x.org", ""],
            cc=["a@X.org", "c@x.org"],
            bcc=["d@bücher.example", "b@x.org"],
        )
    )

    found = [mailbox.envelope for mailbox in built.recipients]
    assert found == ["a@x.org", "b@x.org", "c@x.org", "d@xn--bcher-kva.example"]
    assert built.to_display == "A <a@x.org>, b@x.org"


def test_a_blind_recipient_is_in_the_envelope_and_nowhere_in_the_message() -> None:
    built = build(message(bcc=["blind@hidden.example"]))

    assert [mailbox.envelope for mailbox in built.recipients][-1] == "blind@hidden.example"
    assert b"blind" not in built.raw
    assert b"bcc" not in built.raw.lower()


def test_a_message_for_blind_recipients_only_has_no_to() -> None:
    built = build(message(to=[], bcc=["blind@x.org"]))

    assert parse(built)["To"] is None


def test_a_message_for_nobody_is_built_with_no_recipients() -> None:
    assert build(message(to=[])).recipients == ()


def test_building_leaves_the_message_as_it_was_and_works_again() -> None:
    original = message(headers={"X-A": "1"})
    part = MIMEPart()
    part.set_content("ünline")
    if MODERN:
        original.attach(part)
    before = copy.deepcopy(original.__dict__)

    first, second = build(original), build(original)

    assert original.extra_headers == before["extra_headers"]
    assert [mailbox.envelope for mailbox in first.recipients] == original.to
    assert first.message_id != second.message_id
    assert part["Content-Transfer-Encoding"] == "8bit"


def test_date_and_message_id_of_the_caller_are_kept() -> None:
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)

    built = build(message(headers={"date": moment, "message-id": "<own@example.org>"}))

    assert parse(built)["Date"].datetime == moment
    assert built.message_id == "<own@example.org>"
    assert built.raw.lower().count(b"\r\nmessage-id:") == 1
    assert built.raw.lower().count(b"\r\ndate:") == 1


@pytest.mark.parametrize(("local", "offset"), [(True, "+0530"), (False, "+0000")])
def test_the_date_is_in_the_zone_that_the_settings_ask_for(*, local: bool, offset: str) -> None:
    with override_settings(EMAIL_USE_LOCALTIME=local, TIME_ZONE="Asia/Kolkata", USE_TZ=True):
        built = build(message())

    assert str(parse(built)["Date"]).endswith(offset)


def test_a_from_header_is_shown_while_the_envelope_has_the_sender() -> None:
    built = build(message(headers={"From": "Shown <shown@example.org>"}))

    assert built.mail_from.envelope == "from@example.org"
    assert parse(built)["From"] == "Shown <shown@example.org>"


def test_headers_may_replace_what_is_shown_of_the_recipients() -> None:
    built = build(message(headers={"To": "undisclosed-recipients:;", "Reply-To": "r@x.org"}))

    assert b"\r\nTo: undisclosed-recipients:;\r\n" in built.raw
    assert [mailbox.envelope for mailbox in built.recipients] == ["to@example.org"]
    assert parse(built)["Reply-To"] == "r@x.org"


def test_lazy_texts_are_taken_as_texts() -> None:
    lazy = gettext_lazy("Hello")

    built = build(message(subject=lazy, body=lazy, headers={"X-Number": 4, "X-Lazy": lazy}))

    assert parse(built)["X-Number"] == "4"
    assert content(parse(built)).strip() == b"Hello"


def test_a_class_with_its_own_way_to_make_a_message_is_respected() -> None:
    class Tagged(EmailMessage):
        def message(self, **given: Any) -> Any:
            made = super().message(**given)
            del made["Subject"]
            made["Subject"] = "Tagged: Grüße"
            made["X-Tag"] = "yes"
            return made

    built = build(Tagged("x", "Käse", "a@x.org", ["b@x.org"]))

    parsed = parse(built)
    assert parsed["Subject"] == built.subject == "Tagged: Grüße"
    assert parsed["X-Tag"] == "yes"
    assert content(parsed).decode().strip() == "Käse"
    assert built.message_id == parsed["Message-ID"]
    check_wire(built.raw)


def test_a_class_of_ones_own_cannot_bring_in_a_bcc() -> None:
    class Blind(EmailMessage):
        def message(self, **given: Any) -> Any:
            made = super().message(**given)
            made["Bcc"] = "b@x.org"
            return made

    with pytest.raises(BccHeader):
        build(Blind("x", "y", "a@x.org", ["b@x.org"]))


def test_extra_headers_of_the_call_are_added_and_checked() -> None:
    built = build(message(), extra_headers={"List-Unsubscribe": f"<{LONG_URL}>"})

    assert built.is_list_mail
    with pytest.raises(InvalidHeaderName):
        build(message(), extra_headers={"X-A\n": "1"})


@pytest.mark.parametrize("body", [3, object(), ["x"]])
def test_what_is_no_text_at_all_is_a_type_error(body: object) -> None:
    with pytest.raises(TypeError):
        build(message(body=body))
