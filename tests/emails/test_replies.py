"""A reply's class decides, its enhanced code refines, and no code is without an outcome."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emails.replies import BEFORE_MAIL, Outcome, Reply, Stage, classify, parse_reply

ENHANCED = st.one_of(st.just(""), st.from_regex(r"[245]\.[0-7]\.[0-9]{1,2}", fullmatch=True))
STAGES = st.sampled_from(Stage)


@given(stage=STAGES, code=st.integers(min_value=-1, max_value=1000), enhanced=ENHANCED)
def test_every_reply_has_an_outcome_and_only_2xx_is_accepted(
    stage: Stage, code: int, enhanced: str
) -> None:
    outcome = classify(stage, Reply(code=code, enhanced=enhanced))

    assert isinstance(outcome, Outcome)
    if outcome is Outcome.ACCEPTED:
        assert 200 <= code <= 299


@given(stage=STAGES, code=st.integers(min_value=400, max_value=499), enhanced=ENHANCED)
def test_no_4xx_is_ever_final(stage: Stage, code: int, enhanced: str) -> None:
    assert not classify(stage, Reply(code=code, enhanced=enhanced)).is_final


@given(
    stage=st.sampled_from(sorted(BEFORE_MAIL, key=lambda stage: stage.value)),
    code=st.integers(min_value=300, max_value=599),
    enhanced=ENHANCED,
)
def test_whatever_is_refused_before_mail_is_the_channels(
    stage: Stage, code: int, enhanced: str
) -> None:
    assert classify(stage, Reply(code=code, enhanced=enhanced)) is Outcome.CHANNEL


@given(code=st.integers(min_value=500, max_value=599), text=st.text(max_size=40))
def test_the_text_of_a_reply_decides_nothing(code: int, text: str) -> None:
    assert classify(Stage.RCPT, Reply(code=code, text=text)) is classify(
        Stage.RCPT, Reply(code=code)
    )


@pytest.mark.parametrize(
    ("stage", "code", "enhanced", "expected"),
    [
        (Stage.RCPT, 250, "2.1.5", Outcome.ACCEPTED),
        (Stage.RCPT, 251, "", Outcome.ACCEPTED),
        (Stage.DOT, 250, "", Outcome.ACCEPTED),
        (Stage.DATA, 250, "", Outcome.RETRY),
        (Stage.RCPT, 450, "4.2.0", Outcome.RETRY),
        (Stage.RCPT, 451, "4.7.1", Outcome.RETRY),
        (Stage.RCPT, 450, "4.7.1", Outcome.THROTTLED_DOMAIN),
        (Stage.RCPT, 421, "4.7.28", Outcome.THROTTLED_DOMAIN),
        (Stage.DOT, 421, "4.7.0", Outcome.THROTTLED_DOMAIN),
        (Stage.MAIL, 421, "4.7.0", Outcome.CHANNEL),
        (Stage.RCPT, 421, "4.3.2", Outcome.CHANNEL),
        (Stage.DOT, 421, "4.3.2", Outcome.RETRY),
        (Stage.RCPT, 452, "4.5.3", Outcome.TOO_MANY_RECIPIENTS),
        (Stage.RCPT, 452, "", Outcome.TOO_MANY_RECIPIENTS),
        (Stage.RCPT, 452, "4.3.1", Outcome.RETRY),
        (Stage.RCPT, 552, "5.5.3", Outcome.TOO_MANY_RECIPIENTS),
        (Stage.RCPT, 552, "", Outcome.TOO_MANY_RECIPIENTS),
        (Stage.RCPT, 552, "5.2.2", Outcome.RETRY),
        (Stage.RCPT, 550, "5.1.1", Outcome.REFUSED),
        (Stage.RCPT, 550, "", Outcome.REFUSED),
        (Stage.RCPT, 550, "4.2.1", Outcome.REFUSED),
        (Stage.RCPT, 450, "5.1.1", Outcome.RETRY),
        (Stage.RCPT, 553, "5.6.7", Outcome.NEEDS_SMTPUTF8),
        (Stage.RCPT, 530, "5.7.0", Outcome.CHANNEL),
        (Stage.MAIL, 530, "5.7.0", Outcome.CHANNEL),
        (Stage.MAIL, 454, "4.7.0", Outcome.CHANNEL),
        (Stage.MAIL, 550, "5.7.1", Outcome.REFUSED),
        (Stage.MAIL, 552, "", Outcome.TOO_BIG),
        (Stage.DOT, 552, "5.3.4", Outcome.TOO_BIG),
        (Stage.DOT, 554, "5.7.1", Outcome.REFUSED),
        (Stage.AUTH, 535, "5.7.8", Outcome.CHANNEL),
        (Stage.AUTH, 454, "4.7.0", Outcome.CHANNEL),
        (Stage.GREETING, 554, "", Outcome.CHANNEL),
        (Stage.RCPT, -1, "", Outcome.RETRY),
    ],
)
def test_the_meaning_of_a_reply(stage: Stage, code: int, enhanced: str, expected: Outcome) -> None:
    assert classify(stage, Reply(code=code, enhanced=enhanced)) is expected


@pytest.mark.parametrize(
    ("raw", "enhanced", "text"),
    [
        (b"5.1.1 no such user", "5.1.1", "no such user"),
        (b"5.1.1 no such\n5.1.1 user here", "5.1.1", "no such user here"),
        (b"no such user", "", "no such user"),
        (b"", "", ""),
        (b"5.1.1", "5.1.1", ""),
        (b"9.1.1 what", "", "9.1.1 what"),
        (b"5.1.1x odd", "", "5.1.1x odd"),
        (b"nul \x00 and \x1b[31m red", "", "nul and [31m red"),
        ("Empfänger unbekannt".encode(), "", "Empfänger unbekannt"),
        (b"\xff\xfe latin", "", "\ufffd\ufffd latin"),
    ],
)
def test_a_reply_is_taken_apart(raw: bytes, enhanced: str, text: str) -> None:
    reply = parse_reply(550, raw)

    assert (reply.enhanced, reply.text) == (enhanced, text)


@given(code=st.integers(min_value=-1, max_value=999), raw=st.binary(max_size=2000))
def test_any_reply_becomes_one_short_line_that_a_database_takes(code: int, raw: bytes) -> None:
    line = str(parse_reply(code, raw))

    assert "\0" not in line
    assert "\n" not in line
    assert len(line) < 530
    line.encode()
