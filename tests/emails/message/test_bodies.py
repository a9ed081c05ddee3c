"""Bodies and alternatives arrive as they were."""

from __future__ import annotations

import re

import pytest
from django.core.mail import EmailAlternative
from hypothesis import given
from hypothesis import strategies as st

from emails.errors import UnencodableText
from emails.message import build
from tests.emails.message.building import check_wire, content, leaves, message, parse


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
