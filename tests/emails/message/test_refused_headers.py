"""Headers that would break out of their line, or say what is not so, are refused."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emails.errors import (
    BccHeader,
    ForbiddenCharacter,
    InvalidAddress,
    InvalidHeaderName,
    InvalidHeaderValue,
    RefusedMessage,
    RepeatedHeader,
    ReservedHeader,
)
from emails.message import build
from tests.emails.message.building import check_wire, message


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
