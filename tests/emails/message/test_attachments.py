"""Attachments keep their name and every byte."""

from __future__ import annotations

import email
import email.message
import email.policy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emails.errors import ForbiddenCharacter, InvalidMediaType
from emails.message import build
from tests.emails.message.building import check_wire, content, leaves, message

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
