"""What is put into a message arrives; what must not be sent is refused."""

from __future__ import annotations

import copy
import datetime as dt
import email
import email.message
import email.policy
import re
import warnings
from email.message import MIMEPart
from email.mime.base import MIMEBase
from email.mime.image import MIMEImage
from email.utils import formataddr, parsedate_to_datetime
from typing import Any

import django
import pytest
from django.core.mail import EmailAlternative, EmailMessage, EmailMultiAlternatives
from django.test import override_settings
from django.utils.translation import gettext_lazy
from hypothesis import given
from hypothesis import strategies as st

from emails.errors import (
    BccHeader,
    ForbiddenCharacter,
    InvalidAddress,
    InvalidHeaderName,
    InvalidHeaderValue,
    InvalidMediaType,
    RefusedMessage,
    RepeatedHeader,
    ReservedHeader,
    UnencodableText,
)
from emails.message import BuiltMessage, build

MODERN = django.VERSION >= (6, 0)
LONG_URL = "https://example.org/unsubscribe/" + "t0ken" * 45


def message(**given: Any) -> EmailMultiAlternatives:
    fields: dict[str, Any] = {
        "subject": "Hello",
        "body": "Some text",
        "from_email": "from@example.org",
        "to": ["to@example.org"],
    }
    return EmailMultiAlternatives(**{**fields, **given})


def attach_part(target: EmailMessage, part: email.message.Message) -> None:
    """Attach a finished part, also in the old way that Django 6 warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        target.attach(part)


def parse(built: BuiltMessage) -> email.message.EmailMessage:
    parsed = email.message_from_bytes(built.raw, policy=email.policy.default)
    assert not [part.defects for part in parsed.walk() if part.defects]
    return parsed


def leaves(built: BuiltMessage) -> list[email.message.EmailMessage]:
    return [part for part in parse(built).walk() if not part.is_multipart()]


def content(part: email.message.EmailMessage) -> bytes:
    data = part.get_payload(decode=True)
    assert isinstance(data, bytes)
    return data


def check_wire(raw: bytes) -> None:
    assert raw.isascii()
    assert b"\0" not in raw
    assert raw.endswith(b"\r\n")
    assert not re.search(rb"(?<!\r)\n|\r(?!\n)", raw)
    assert max(map(len, raw.split(b"\r\n"))) <= 998


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


@pytest.mark.parametrize(
    "subject",
    [
        "plain",
        "",
        "🎉",
        "🎉" * 60,
        "ü" * 80,
        (
            "Objet : réunion générale extraordinaire des actionnaires de la société, "
            "à l'hôtel de ville de Besançon — prière de confirmer votre présence avant mardi"
        ),
        "Зарегистрируйтесь сейчас " * 6,
        "Re: [shop] Käse und 50 % Rabatt? =ja= _nein_ (100€)",
        "word " * 60 + "end",
        "x" * 300,
        "x" * 2000,
        " leading and trailing ",
        "two  spaces   three",
        "a\ttab",
        "mixed ASCII words first and then at the very end of the line an ümlaut",
        "what is =?utf-8?q? this",
        "\x01control\x7f",
        "line\u2028separator \x0b \x0c \x1c \x85",
        "👩‍👩‍👧‍👦 family",
        "日本語の件名" * 20,
    ],
)
def test_a_subject_decodes_to_what_was_put_in(subject: str) -> None:
    built = build(message(subject=subject))

    head = built.raw.split(b"\r\n\r\n")[0]
    assert legacy(built, "Subject") == subject
    assert built.subject == subject
    for word in re.findall(rb"=\?utf-8\?[qb]\?[^?]*\?=", head):
        assert len(word) <= 75
    assert max(map(len, head.split(b"\r\n"))) <= (998 if subject.startswith("x" * 300) else 76)
    check_wire(built.raw)


def legacy(built: BuiltMessage, name: str) -> str:
    """Decode a header by RFC 2047 with the standard library's older, exacter functions."""
    raw = email.message_from_bytes(built.raw)[name]
    unfolded = re.sub(r"\r?\n(?=[ \t])", "", raw)
    return str(email.header.make_header(email.header.decode_header(unfolded)))


@given(subject=st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"])))
def test_any_subject_decodes_to_what_was_put_in(subject: str) -> None:
    if "=?" in subject:
        return
    built = build(message(subject=subject))

    assert legacy(built, "Subject") == subject
    assert parse(built)["Subject"] is not None
    check_wire(built.raw)


@pytest.mark.parametrize("name", ["List-Unsubscribe", "list-unsubscribe", "List-Help"])
def test_a_long_url_in_a_list_header_stays_in_one_piece(name: str) -> None:
    value = f"<{LONG_URL}>, <mailto:unsubscribe@example.org?subject=stop>"

    built = build(message(headers={name: value}))

    assert f"<{LONG_URL}>".encode() in built.raw
    assert re.sub(r"\r\n(?=[ \t])", "", email.message_from_bytes(built.raw)[name]) == value
    assert built.is_list_mail == (name.lower() == "list-unsubscribe")


def test_ids_are_never_folded_inside() -> None:
    ids = [f"<{number}{'x' * 70}@mail.example.org>" for number in range(20)]
    long_id = f"<{'y' * 200}@example.org>"

    built = build(
        message(headers={"References": " ".join(ids), "In-Reply-To": ids[0], "Message-ID": long_id})
    )

    for each in [*ids, long_id]:
        assert each.encode() in built.raw
    assert built.message_id == long_id
    check_wire(built.raw)


def test_a_url_in_any_header_stays_in_one_piece() -> None:
    built = build(message(headers={"X-Link": LONG_URL}))

    assert LONG_URL.encode() in built.raw


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


def test_names_and_domains_beyond_ascii_are_encoded() -> None:
    built = build(
        message(
            from_email=formataddr(("Jörg Müller", "jm@example.org")),
            to=['"Käse, Inh. Özil" <k@bücher.example>', "Łukasz <l@example.org>"],
        )
    )

    parsed = parse(built)
    assert parsed["From"].addresses[0].display_name == "Jörg Müller"
    assert [a.display_name for a in parsed["To"].addresses] == ["Käse, Inh. Özil", "Łukasz"]
    assert parsed["To"].addresses[0].domain == "xn--bcher-kva.example"
    check_wire(built.raw)


def test_a_local_part_beyond_ascii_is_flagged_and_the_message_stays_in_7_bits() -> None:
    built = build(message(to=["jörg@example.org", "a@example.org"]))

    assert [mailbox.needs_smtputf8 for mailbox in built.recipients] == [True, False]
    assert built.recipients[0].envelope == "jörg@example.org"
    assert not built.needs_smtputf8
    assert build(message(from_email="jörg@example.org")).needs_smtputf8
    check_wire(built.raw)


def test_five_hundred_recipients_fold_between_them() -> None:
    to = [f"Person {number} <person{number}@example.org>" for number in range(500)]

    built = build(message(to=to))

    head = built.raw.split(b"\r\n\r\n")[0]
    assert max(map(len, head.split(b"\r\n"))) <= 76
    assert [str(each) for each in parse(built)["To"].addresses] == to


def test_lazy_texts_are_taken_as_texts() -> None:
    lazy = gettext_lazy("Hello")

    built = build(message(subject=lazy, body=lazy, headers={"X-Number": 4, "X-Lazy": lazy}))

    assert parse(built)["X-Number"] == "4"
    assert content(parse(built)).strip() == b"Hello"


@pytest.mark.parametrize(
    "headers",
    [
        {"X-A\nBcc": "evil@example.org"},
        {"X-A\r\nBcc": "evil@example.org"},
        {"X A": "1"},
        {"X-A:": "1"},
        {"": "1"},
        {"X-Ä": "1"},
        {"X-A\0": "1"},
        {"X" * 999: "1"},
    ],
)
def test_a_header_name_that_no_header_can_have_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(InvalidHeaderName):
        build(message(headers=headers))


@pytest.mark.parametrize(
    "tail", ["\nBcc: e@x.org", "\r\nBcc: e@x.org", "\r", "\n", "\r\n x", "\0", "\ud800"]
)
@pytest.mark.parametrize(
    "place",
    [
        "subject",
        "from",
        "to",
        "cc",
        "bcc",
        "reply_to",
        "X-A",
        "From",
        "Message-ID",
        "Date",
        "Sender",
    ],
)
def test_line_ends_nul_and_surrogates_are_refused_in_every_header(place: str, tail: str) -> None:
    value = f"a@example.org{tail}"
    given: dict[str, Any] = {
        "subject": {"subject": f"Hello{tail}"},
        "from": {"from_email": value},
    }.get(place) or (
        {place: [value]}
        if place in {"to", "cc", "bcc", "reply_to"}
        else {"headers": {place: value}}
    )

    with pytest.raises(ForbiddenCharacter) as raised:
        build(message(**given))

    assert isinstance(raised.value, ValueError)
    str(raised.value).encode()


@pytest.mark.parametrize("name", ["Bcc", "bcc", "BCC", "Resent-Bcc"])
def test_a_bcc_header_is_refused(name: str) -> None:
    with pytest.raises(BccHeader):
        build(message(headers={name: "b@example.org"}))


@pytest.mark.parametrize("name", ["Content-Type", "mime-version", "Content-Transfer-Encoding"])
def test_a_header_that_describes_the_message_is_refused(name: str) -> None:
    with pytest.raises(ReservedHeader):
        build(message(headers={name: "x"}))


@pytest.mark.parametrize("headers", [{"X-A": "1", "x-a": "2"}, {"Subject": "another"}])
def test_a_header_given_twice_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(RepeatedHeader):
        build(message(headers=headers))


@pytest.mark.parametrize(
    "headers",
    [
        {"Date": "yesterday"},
        {"Message-ID": "two words"},
        {"Message-ID": ""},
        {"Message-ID": "<ümlaut@x.org>"},
        {"List-Unsubscribe": "<https://example.org/ü>"},
        {"List-Unsubscribe": f"<https://example.org/{'x' * 1000}>"},
    ],
)
def test_a_header_value_of_a_wrong_form_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(InvalidHeaderValue):
        build(message(headers=headers))


@pytest.mark.parametrize(
    "given",
    [
        {"to": ["Lee, Kevin <lee@example.org>"]},
        {"to": ["a@example.org, b@example.org"]},
        {"cc": ["team: a@example.org;"]},
        {"bcc": ["nobody"]},
        {"reply_to": ["nobody"]},
        {"from_email": "Lee, Kevin <lee@example.org>"},
        {"headers": {"From": "Lee, Kevin <lee@example.org>"}},
        {"headers": {"Sender": "nobody"}},
    ],
)
def test_a_malformed_address_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidAddress):
        build(message(**given))


@pytest.mark.parametrize(
    "body",
    [
        "",
        "short",
        ".\n..\n.leading\n",
        "x" * 5000,
        "ü" * 5000,
        "a\0b",
        "trailing spaces   \nand tabs\t\n",
        "From the start\nFrom again\n",
        "mixed\r\nline\nends\n",
        "a lone \r carriage return",
        "日本語 " * 500,
        "=3D already?\n=\n",
        "\x0b\x0c\x1c\u2028\x85",
        "--=_boundary\n--\n",
        "ends with space ",
    ],
)
def test_a_body_arrives_as_it_was(body: str) -> None:
    built = build(message(body=body))

    found = content(parse(built)).decode("utf-8")
    expected = re.sub(r"\r\n|\n", "\r\n", body)
    assert found.removesuffix("\r\n") == expected.removesuffix("\r\n")
    encoding = parse(built)["Content-Transfer-Encoding"]
    assert encoding in {"quoted-printable", "base64"}
    check_wire(built.raw)


@given(
    body=st.text(st.characters(exclude_categories=["Cs"])), html=st.text("<>é.\n =", max_size=99)
)
def test_any_body_and_alternative_arrive_as_they_were(body: str, html: str) -> None:
    original = message(body=body or "-")
    original.attach_alternative(html, "text/html")

    built = build(original)

    found = [content(part).decode("utf-8") for part in leaves(built)]
    assert found == [re.sub(r"\r\n|\n", "\r\n", text) for text in (body or "-", html)]
    check_wire(built.raw)


@pytest.mark.parametrize("place", ["body", "alternative", "attachment"])
def test_a_lone_surrogate_in_a_text_is_refused(place: str) -> None:
    original = message(body="\ud800" if place == "body" else "text")
    if place == "alternative":
        original.attach_alternative("\ud800", "text/html")
    if place == "attachment":
        original.attach("a.txt", "\ud800", "text/plain")

    with pytest.raises(UnencodableText) as raised:
        build(original)

    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize("charset", ["iso-8859-1", "utf-16", "koi8-r", "iso-2022-jp"])
def test_the_character_set_of_the_message_is_used(charset: str) -> None:
    text = {"koi8-r": "Привет", "iso-2022-jp": "日本"}.get(charset, "Grüße") + "\nzwei"
    original = message(body=text)
    original.encoding = charset

    built = build(original)

    (part,) = leaves(built)
    assert part.get_content_charset() == charset
    assert content(part).decode(charset).split() == text.split()
    check_wire(built.raw)


def test_a_text_beyond_its_character_set_is_refused() -> None:
    original = message(body="€uro")
    original.encoding = "iso-8859-1"

    with pytest.raises(UnencodableText, match="iso-8859-1"):
        build(original)


def test_alternatives_of_every_kind_arrive_in_order() -> None:
    original = message(alternatives=[EmailAlternative("<p>hé</p>", "text/html")])
    original.attach_alternative("BEGIN:VCALENDAR", "text/calendar; method=REQUEST; charset=utf-8")
    original.attach_alternative("<amp>", "text/x-amp-html")
    original.attach_alternative(b'{"a": 1}', "application/json")

    built = build(original)

    parsed = parse(built)
    assert parsed.get_content_type() == "multipart/alternative"
    kinds = [part.get_content_type() for part in leaves(built)]
    assert kinds == [
        "text/plain",
        "text/html",
        "text/calendar",
        "text/x-amp-html",
        "application/json",
    ]
    assert leaves(built)[2].get_param("method") == "REQUEST"
    assert leaves(built)[2].get_all("Content-Type") == [leaves(built)[2]["Content-Type"]]
    assert content(leaves(built)[4]) == b'{"a": 1}'


ODD_NAMES = [
    "plain.txt",
    "with space.pdf",
    'quo"te.pdf',
    "back\\slash.pdf",
    'both\\".pdf',
    "semi;colon=equals.pdf",
    "it's 100%.pdf",
    "Übersicht.pdf",
    "🎉.png",
    "請求書" * 30 + ".pdf",
    "n" * 300 + ".bin",
    "tab\there.txt",
    "../../etc/passwd",
    "(paren) [bracket] <angle>.txt",
    "<>",
    "<angle>",
    "no extension",
    "trailing.",
    " lead",
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_an_attachment_keeps_its_name_and_every_byte(name: str) -> None:
    data = bytes(range(256)) * 3
    original = message()
    original.attach(name, data, "application/x-odd")

    built = build(original)

    part = leaves(built)[-1]
    assert part["Content-Disposition"].params["filename"] == name
    assert email.message_from_bytes(part.as_bytes()).get_filename() == name.strip()
    assert part.get_content_disposition() == "attachment"
    assert part.get_content_type() == "application/x-odd"
    assert content(part) == data
    head = built.raw.partition(b"Content-Disposition")[2].partition(b"\r\n\r\n")[0]
    assert max(map(len, head.split(b"\r\n"))) <= 76
    check_wire(built.raw)


@given(
    name=st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), min_size=1)
    | st.text('<>"\\ a=?', min_size=1)  # what readers strip or take for something else
)
def test_any_attachment_name_arrives(name: str) -> None:
    original = message()
    original.attach(name, b"data", "application/octet-stream")

    built = build(original)

    (_, part) = [p for p in email.message_from_bytes(built.raw).walk() if not p.is_multipart()]
    assert part.get_filename() == name.strip()  # the standard library strips it
    check_wire(built.raw)


def test_attachments_of_the_same_name_all_arrive() -> None:
    original = message()
    for number in range(3):
        original.attach("same.txt", f"{number}", "text/plain")

    parts = leaves(build(original))[1:]

    assert [part.get_filename() for part in parts] == ["same.txt"] * 3
    assert [content(part) for part in parts] == [b"0", b"1", b"2"]


@pytest.mark.parametrize("data", [b"a\r\nb\nc\rd", b"\xef\xbb\xbfbom", b".\r\n", b"x" * 3000, b""])
def test_a_text_attachment_keeps_every_byte(data: bytes) -> None:
    original = message()
    original.attach("notes.csv", data, "text/csv")

    part = leaves(build(original))[-1]

    assert content(part) == data
    assert part.get_content_type() == "text/csv"
    assert part.get_content_charset() == "utf-8"


def test_a_text_attachment_that_is_no_text_is_sent_as_bytes() -> None:
    original = message()
    original.attachments.append(("a.txt", b"\xff\xfe\x00", "text/plain"))

    part = leaves(build(original))[-1]

    assert part.get_content_type() == "application/octet-stream"
    assert content(part) == b"\xff\xfe\x00"


@pytest.mark.parametrize(
    ("mimetype", "found"),
    [
        ("image/svg+xml", "image/svg+xml"),
        ("application/vnd.ms-excel.sheet.macroEnabled.12", None),
        ("application/json; profile=x", "application/json"),
        ("x-world/x-3dmf", "x-world/x-3dmf"),
        ("multipart/mixed", "application/octet-stream"),
        (None, "application/pdf"),
        ("", "application/pdf"),
    ],
)
def test_an_attachment_may_have_any_media_type(mimetype: str | None, found: str | None) -> None:
    original = message()
    original.attach("a.pdf", b"data", mimetype)

    part = leaves(build(original))[-1]

    assert part.get_content_type() == (found or str(mimetype).lower())
    assert content(part) == b"data"


@pytest.mark.parametrize(
    "mimetype", ["text/plain\r\nX: y", "a/b\n", "a/b;\r\n c=d", "text/pl ain", "/", "a/", "ä/b"]
)
def test_a_media_type_that_none_can_be_is_refused(mimetype: str) -> None:
    original = message()
    original.attachments.append(("a", b"x", mimetype))

    with pytest.raises((InvalidMediaType, ForbiddenCharacter)):
        build(original)


@pytest.mark.parametrize("name", ["a\r\nX: y", "a\n b", "a\r", "a\0", "a\udc80"])
def test_an_attachment_name_that_breaks_its_line_is_refused(name: str) -> None:
    original = message()
    original.attach(name, b"x", "image/png")

    with pytest.raises(ForbiddenCharacter):
        build(original)


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


@given(
    name=st.text(max_size=12),
    value=st.text(max_size=60),
)
def test_any_header_is_refused_or_stands_on_the_wire_as_that_one_header(
    name: str, value: str
) -> None:
    try:
        built = build(message(headers={name: value}))
    except RefusedMessage:
        return
    check_wire(built.raw)
    head = built.raw.split(b"\r\n\r\n")[0]
    names = re.findall(rb"^([!-9;-~]+):", head, re.MULTILINE)
    known = {b"Subject", b"From", b"To", b"Date", b"Message-ID", b"MIME-Version"}
    known |= {b"Content-Type", b"Content-Transfer-Encoding", name.encode()}
    assert {each.lower() for each in names} <= {each.lower() for each in known}
