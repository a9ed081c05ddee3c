"""Addresses are read whole, or refused with what is wrong."""

from __future__ import annotations

import email.policy
from email.headerregistry import HeaderRegistry

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from emails.addresses import (
    Mailbox,
    decode_words,
    encode_words,
    normalise,
    parse_mailbox,
    parse_mailboxes,
)
from emails.errors import ForbiddenCharacter, InvalidAddress

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"])).map(
    lambda text: " ".join(text.split())
)


@pytest.mark.parametrize(
    ("text", "display", "envelope"),
    [
        ("user@example.org", "", "user@example.org"),
        ("<user@example.org>", "", "user@example.org"),
        ("  user@example.org ", "", "user@example.org"),
        ("Lee <lee@example.org>", "Lee", "lee@example.org"),
        ("John Q. Public <j@example.org>", "John Q. Public", "j@example.org"),
        ('"Lee, Kevin" <lee@example.org>', "Lee, Kevin", "lee@example.org"),
        (r'"a \"b\" \\ c" <x@example.org>', r'a "b" \ c', "x@example.org"),
        ("jörg müller <j@example.org>", "jörg müller", "j@example.org"),
        ("=?utf-8?b?SsO2cmc=?= <j@example.org>", "Jörg", "j@example.org"),
        ("user@example.org (Kevin Lee)", "Kevin Lee", "user@example.org"),
        ("Sales (EU) <s@example.org>", "Sales (EU)", "s@example.org"),
        ("a@b.org <a@b.org>", "a@b.org", "a@b.org"),
        ("webmaster@localhost", "", "webmaster@localhost"),
        ("root@[127.0.0.1]", "", "root@[127.0.0.1]"),
        ("root@[IPv6:::1]", "", "root@[IPv6:::1]"),
        ('"odd local"@example.org', "", '"odd local"@example.org'),
        ("user+tag=x@example.org", "", "user+tag=x@example.org"),
        ("user@bücher.example", "", "user@xn--bcher-kva.example"),
        ("user@BÜCHER.example", "", "user@xn--bcher-kva.example"),
        ("user@faß.de", "", "user@xn--fa-hia.de"),
        ("jörg@example.org", "", "jörg@example.org"),
        ("user@my_host.example", "", "user@my_host.example"),
    ],
)
def test_a_mailbox_is_read(text: str, display: str, envelope: str) -> None:
    mailbox = parse_mailbox(text)

    assert (mailbox.display, mailbox.envelope) == (display, envelope)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("plain", "no @"),
        ("@example.org", "before the @"),
        ("user@", "domain"),
        ("user@@example.org", "domain"),
        ("user@example..org", "domain"),
        ("user@.example.org", "domain"),
        ("user@example.org.", "domain"),
        ("user@-x.org", "domain"),
        ("user@ex ample.org", "space"),
        ("us er@example.org", "space"),
        (".user@example.org", "before the @"),
        ("us..er@example.org", "before the @"),
        ("Lee, Kevin <lee@example.org>", "comma"),
        ("a@x.org, b@x.org", "several"),
        ("a@x.org,", "comma"),
        ("Lee <lee@example.org", "do not match"),
        ("Lee lee@example.org>", "do not match"),
        ("<a@x.org> <b@x.org>", "do not match"),
        ("<a@x.org> trailing", "text follows"),
        ("team: a@x.org;", "groups"),
        ("undisclosed-recipients:;", "groups"),
        ('"open <a@x.org>', "quotes"),
        ("a;b <a@x.org>", "groups"),
        ("(open <a@x.org>", "comment"),
        ("user@[not a literal", "domain"),
        ("user@\u2603\u200d.example", "domain"),
        ("=?utf-8?q?a?=@example.org", "encoded-word"),
        ("a" * 310 + "@example.org", "longer"),
        ("<>", "no @"),
        ("a@b@c.org", "domain"),
    ],
)
def test_a_malformed_address_is_refused_with_its_problem(text: str, problem: str) -> None:
    with pytest.raises(InvalidAddress) as raised:
        parse_mailbox(text, header="Cc")

    assert isinstance(raised.value, ValueError)
    message = str(raised.value)
    assert message.startswith("Cc has the address ")
    assert problem in message
    assert "Allowed is user@domain" in message


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a@x.org\nBcc: e@x.org", "an LF"),
        ("a@x.org\r", "a CR"),
        ('"a\r\n b" <a@x.org>', "a CR"),
        ("a\0@x.org", "a NUL"),
        ("\udc80@x.org", "a lone surrogate"),
        ("=?utf-8?q?a=0ABcc=3A_e?= <a@x.org>", "an LF"),
    ],
)
def test_a_character_that_no_header_may_hold_is_refused(text: str, found: str) -> None:
    with pytest.raises(ForbiddenCharacter, match=found):
        parse_mailbox(text)


def test_a_list_is_read_in_order_and_commas_in_quotes_divide_nothing() -> None:
    mailboxes = parse_mailboxes('"Lee, Kevin" <lee@x.org>, b@x.org ,c@x.org', header="To")

    assert [mailbox.envelope for mailbox in mailboxes] == ["lee@x.org", "b@x.org", "c@x.org"]


def test_the_empty_group_is_allowed_in_a_header_and_a_full_one_is_not() -> None:
    assert parse_mailboxes("undisclosed-recipients:;", header="To") == []
    with pytest.raises(InvalidAddress, match="groups"):
        parse_mailboxes("team: a@x.org, b@x.org;", header="To")


def test_only_a_local_part_beyond_ascii_needs_smtputf8() -> None:
    assert parse_mailbox("jörg@example.org").needs_smtputf8
    assert not parse_mailbox("Jörg <j@bücher.example>").needs_smtputf8


@pytest.mark.parametrize(
    "spelling",
    ["User@BÜCHER.example", "user@xn--bcher-kva.example", "U <USER@Bücher.Example>"],
)
def test_every_spelling_of_an_address_has_one_normalised_form(spelling: str) -> None:
    assert normalise(spelling) == "user@xn--bcher-kva.example"


def test_a_local_part_that_no_header_can_hold_stands_as_the_name_of_an_empty_group() -> None:
    form = parse_mailbox("Jörg <jörg@example.org>").header_form

    assert form.isascii()
    assert form.endswith(":;")
    assert decode_words(form.removesuffix(" :;")) == "Jörg jörg@example.org"


@given(name=NAMES, local=st.from_regex(r"[a-z0-9+_-]{1,20}", fullmatch=True))
@example(name="=?UTF?Q??=", local="a")
def test_any_name_survives_the_way_into_a_header_and_back(name: str, local: str) -> None:
    mailbox = Mailbox(display=name, local=local, domain="example.org")

    again = parse_mailbox(mailbox.header_form)

    assert mailbox.header_form.isascii()
    assert again.envelope == mailbox.envelope
    assert again.display == name.strip()


@given(name=NAMES.filter(lambda name: "=?" not in name))
def test_the_standard_library_reads_the_same_name(name: str) -> None:
    form = Mailbox(display=name, local="a", domain="example.org").header_form
    assume(form.count("=?") <= 1)  # between two it shows a space that is not there

    (found,) = HeaderRegistry()("To", form).addresses  # type: ignore[attr-defined]

    assert found.display_name == name
    assert found.addr_spec == "a@example.org"


@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_encoded_words_are_short_ascii_and_decode_to_what_they_were(text: str) -> None:
    words = encode_words(text)

    assert all(len(word) <= 75 and word.isascii() and " " not in word for word in words)
    assert decode_words(" ".join(words)) == text


@given(text=st.text())
@example(text="\x80@0")
def test_any_text_is_read_or_refused_and_nothing_else(text: str) -> None:
    try:
        mailbox = parse_mailbox(text)
    except ValueError:
        return
    if not mailbox.needs_smtputf8:  # no header form can be read back as an address
        assert parse_mailbox(mailbox.header_form).envelope == mailbox.envelope


@given(text=st.text(st.sampled_from('ab.@<>",:;()[]\\ \t=?é-'), min_size=1, max_size=25))
def test_text_near_to_an_address_never_makes_an_unsafe_envelope(text: str) -> None:
    try:
        mailbox = parse_mailbox(text)
    except ValueError:
        return
    unquoted = mailbox.envelope if '"' not in mailbox.local else mailbox.domain
    assert not set(unquoted) & set(' \t,<>"();\\')


def test_the_policy_of_the_standard_library_agrees_on_the_envelope() -> None:
    for text in ("Lee <lee@x.org>", '"Lee, K" <lee@x.org>', "lee@x.org"):
        (found,) = email.policy.default.header_factory("To", text).addresses
        assert found.addr_spec == parse_mailbox(text).envelope
