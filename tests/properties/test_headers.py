"""Whatever goes into a header: it comes out whole, in ASCII, on lines that a server takes."""

from __future__ import annotations

import email
import email.header
import email.message
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emails.addresses import decode_words
from emails.errors import RefusedMessage
from emails.headers import fold_header, parameters
from emails.parts import parameterised

TEXT = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]))
WORDS = st.lists(
    st.text(st.characters(codec="ascii", min_codepoint=33, max_codepoint=126), min_size=1)
)
URL = st.from_regex(r"https://[a-z]{1,20}\.example/[A-Za-z0-9?&=%._~/-]{0,600}", fullmatch=True)
IDS = st.from_regex(r"<[a-z0-9.!#$+-]{1,150}@[a-z]{1,30}\.example>", fullmatch=True)
NAME = st.from_regex(r"X-[A-Za-z-]{1,40}", fullmatch=True)


def lines_of(folded: str) -> list[str]:
    assert folded.endswith("\r\n")
    lines = folded.removesuffix("\r\n").split("\r\n")
    assert folded.isascii()
    assert all(0 < len(line) <= 998 for line in lines)
    assert all(line[0] in " \t" and line.strip() for line in lines[1:])
    assert not re.search(r"[\r\n\0]", "".join(lines))
    return lines


def value_of(folded: str) -> str:
    """Undo the folds as RFC 5322 §2.2.3 says, and take the name off."""
    return folded.removesuffix("\r\n").replace("\r\n", "").partition(":")[2].removeprefix(" ")


def decoded(text: str) -> str:
    return str(email.header.make_header(email.header.decode_header(text)))


@given(name=NAME, text=TEXT.filter(lambda text: "=?" not in text))
def test_any_text_comes_out_as_it_went_in(name: str, text: str) -> None:
    folded = fold_header(name, text)

    lines = lines_of(folded)
    assert decoded(value_of(folded)) == text
    if not re.fullmatch(r"[ -~\t]*", text):
        assert all(len(line) <= 76 for line in lines)
    assert all(len(word) <= 75 for word in re.findall(r"=\?.*?\?.\?.*?\?=", folded))


@given(name=NAME, text=TEXT)
def test_text_with_encoded_words_in_it_means_the_same_afterwards(name: str, text: str) -> None:
    try:
        folded = fold_header(name, f"=?utf-8?q?caf=C3=A9?= {text}")
    except RefusedMessage:
        return
    lines_of(folded)
    assert decode_words(value_of(folded)).startswith("café")


@given(name=NAME, words=WORDS)
def test_ascii_words_are_folded_between_them_and_nowhere_else(name: str, words: list[str]) -> None:
    text = " ".join(words)
    if "=?" in text:
        return

    folded = fold_header(name, text)

    lines = lines_of(folded)
    assert value_of(folded) == text
    assert all(len(line) <= 76 or " " not in line.strip() or line is lines[0] for line in lines)


@pytest.mark.parametrize("name", ["List-Unsubscribe", "List-Archive", "List-Post"])
@given(urls=st.lists(URL, min_size=1, max_size=4))
def test_no_url_of_a_list_header_is_broken(name: str, urls: list[str]) -> None:
    value = ", ".join(f"<{url}>" for url in urls)

    folded = fold_header(name, value)

    lines_of(folded)
    assert value_of(folded) == value
    assert all(f"<{url}>" in folded for url in urls)


@pytest.mark.parametrize("name", ["References", "In-Reply-To", "Message-ID", "Content-ID"])
@given(ids=st.lists(IDS, min_size=1, max_size=20))
def test_no_id_is_broken(name: str, ids: list[str]) -> None:
    folded = fold_header(name, " ".join(ids))

    lines_of(folded)
    assert all(each in folded for each in ids)
    assert value_of(folded) == " ".join(ids)


@given(name=st.text(max_size=30), value=st.text(max_size=200))
def test_any_name_and_value_are_refused_or_make_one_header(name: str, value: str) -> None:
    try:
        folded = fold_header(name, value)
    except RefusedMessage:
        return
    lines_of(folded)
    message = email.message_from_string(f"{folded}\r\nbody")
    assert message.keys() == [name]


@pytest.mark.parametrize("name", ["Subject", "X-A", "List-Id", "Message-ID"])
@given(
    before=TEXT,
    end=st.sampled_from(["\r", "\n", "\r\n"]),
    after=st.from_regex(r"[^ \t\r\n].*", fullmatch=True),
)
def test_no_line_end_gets_through(name: str, before: str, end: str, after: str) -> None:
    with pytest.raises(RefusedMessage):
        fold_header(name, before + end + after)


@given(
    first=st.sampled_from(["=0D=0A", "=0A", "=0D", "=00"]),
    after=st.from_regex(r"[A-Za-z]{0,20}", fullmatch=True),
)
def test_no_line_end_hides_in_an_encoded_word(first: str, after: str) -> None:
    with pytest.raises(RefusedMessage):
        fold_header("Subject", f"=?utf-8?q?a{first}Bcc=3A{after}?=")


@given(values=st.dictionaries(st.sampled_from(["filename", "name", "other"]), TEXT))
def test_any_parameters_come_out_as_they_went_in(values: dict[str, str]) -> None:
    folded = fold_header("Content-Disposition", parameterised("attachment", values))

    lines = lines_of(folded)
    assert all(len(line) <= 77 for line in lines)
    assert parameters(value_of(folded)) == ("attachment", values)


@given(filename=TEXT)
def test_the_standard_library_reads_the_same_file_name(filename: str) -> None:
    folded = fold_header("Content-Disposition", parameterised("inline", {"filename": filename}))

    message = email.message_from_string(f"{folded}\r\nbody")

    assert (message.get_filename() or "") == filename.strip()
