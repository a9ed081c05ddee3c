"""What is kept of an exception."""

from __future__ import annotations

import pytest

from jobs.failure import MESSAGE_LIMIT, TRACEBACK_LIMIT, describe, headline, storable


def raised(error):
    try:
        raise error
    except type(error) as caught:
        return caught


def deep(levels):
    if not levels:
        raise ValueError("at the bottom")
    deep(levels - 1)


def test_the_headline_is_one_line_with_type_and_message():
    assert headline(ValueError("no\n such  street")) == "ValueError: no such street"
    assert headline(KeyError()) == "KeyError"


def test_a_description_has_the_traceback_after_the_headline():
    text = describe(raised(ValueError("no")))

    assert text.startswith("ValueError: no\n  File ")
    assert "in raised" in text


def test_secrets_are_masked_in_both():
    text = describe(raised(ValueError("postgres://me:hunter2@db")))

    assert "hunter2" not in text
    assert text.startswith("ValueError: postgres://me:****@db")


def test_long_messages_are_cut_at_their_end_and_tracebacks_at_their_beginning():
    with pytest.raises(ValueError, match="bottom") as caught:
        deep(400)

    text = describe(caught.value)

    assert len(headline(ValueError("x" * 10_000))) == MESSAGE_LIMIT
    assert len(text) <= MESSAGE_LIMIT + TRACEBACK_LIMIT + 1
    assert text.rstrip().endswith('raise ValueError("at the bottom")')


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
def test_a_text_is_made_such_that_the_database_can_hold_it(text):
    stored = storable(text)

    assert "\x00" not in stored
    assert stored.encode("utf-8")


def test_an_exception_whose_message_cannot_be_stored_is_still_described():
    assert describe(raised(ValueError("a\x00\udfffb"))).startswith("ValueError: a")
