"""What is said over one connection: bytes in, bytes out."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from emails.envelopes import DeliveryResult, RecipientResult
from emails.recipients import acceptance_of, outcome_of, settle
from emails.replies import Outcome, parse_reply, read_reply
from emails.streaming.conversation import code_class, end_of_reply

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=20)
CODES = st.integers(min_value=200, max_value=599)


def reply_of(code, lines):
    """Write a reply as a server does."""
    last = len(lines) - 1
    return "".join(
        f"{code}{' ' if place == last else '-'}{line}\r\n" for place, line in enumerate(lines)
    ).encode()


@given(code=CODES, lines=st.lists(TEXT, min_size=1, max_size=4), more=st.binary(max_size=20))
def test_a_reply_ends_where_its_last_line_ends_and_not_before(code, lines, more):
    reply = reply_of(code, lines)

    assert end_of_reply(reply + more) == len(reply)
    assert all(end_of_reply(reply[:length]) == 0 for length in range(len(reply)))
    assert code_class(reply) == str(code)[0].encode()


@given(code=CODES, lines=st.lists(TEXT, min_size=1, max_size=4))
def test_a_reply_as_it_came_says_what_smtplib_makes_of_it(code, lines):
    said = "\n".join(line.strip() for line in lines).encode()

    assert read_reply(reply_of(code, lines)) == parse_reply(code, said)


@given(junk=st.sampled_from([b"hello\r\n", b"\n", b"25\r\n", b"2x0 fine\r\n", b"\xff\xff\xff\r\n"]))
def test_what_is_no_reply_has_no_class(junk):
    assert code_class(junk) == b""


@given(
    states=st.lists(st.sampled_from(["pending", "accepted", "refused"]), min_size=1, max_size=5),
    text=TEXT,
)
def test_a_mail_that_was_taken_is_settled_as_by_an_attempt_of_its_own(states, text):
    recipients = [
        {"address": f"{place}@example.com", "domain": "example.com", "state": state, "text": "old"}
        for place, state in enumerate(states)
    ]
    reply = parse_reply(250, text.encode())
    result = DeliveryResult(
        recipients=tuple(
            RecipientResult(address=item["address"], outcome=Outcome.ACCEPTED, reply=reply)
            for item in recipients
            if item["state"] == "pending"
        )
    )

    settled = settle(recipients, result, attempts=0, max_attempts=5).recipients
    acceptance = acceptance_of(recipients)
    streamed = json.loads(acceptance.recipients_by(reply, at="now"))

    assert acceptance.outcome == outcome_of(settled)
    for one, other in zip(settled, streamed, strict=True):
        assert one | {"at": ""} == other | {"at": ""}
