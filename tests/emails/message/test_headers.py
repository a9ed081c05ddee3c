"""Headers arrive as they were put in, folded where that does no harm."""

from __future__ import annotations

import email
import email.message
import email.policy
import re
from email.utils import formataddr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emails.message import BuiltMessage, build
from tests.emails.message.building import LONG_URL, check_wire, message, parse


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
