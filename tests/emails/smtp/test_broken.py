"""Connections that break, at each stage of a mail."""

from __future__ import annotations

import threading
import time

import pytest

from emails.envelopes import DeliveryResult
from emails.errors import StaleConnection
from emails.replies import Outcome
from emails.smtp import Timeouts
from tests.emails.smtp.conftest import (
    BOTH_WAYS,
    PATIENT,
    PLAIN,
    QUICK,
    answering,
    connect,
    envelope,
    outcomes,
    send,
)
from tests.emails.smtpd import DROP, HANG, ScriptedServer, wait_until


@pytest.mark.parametrize("behaviour", [DROP, HANG])
@pytest.mark.parametrize("stage", ["MAIL", "RCPT", "DATA"])
@BOTH_WAYS
def test_a_connection_broken_before_the_dot_is_lost_and_not_uncertain(
    extensions: tuple[str], stage: str, behaviour: str
) -> None:
    timeouts = QUICK if behaviour == HANG else PATIENT

    with ScriptedServer(answering({stage: behaviour}), extensions=extensions) as server:
        result = send(server, envelope(), timeouts=timeouts)

    assert outcomes(result) == [Outcome.LOST]
    assert result.counts_an_attempt
    assert result.recipients[0].text
    assert server.mails == []


@pytest.mark.parametrize("behaviour", [DROP, HANG])
@BOTH_WAYS
def test_a_connection_broken_after_the_dot_is_uncertain(
    extensions: tuple[str], behaviour: str
) -> None:
    timeouts = QUICK if behaviour == HANG else PATIENT

    with ScriptedServer(answering({"dot": behaviour}), extensions=extensions) as server:
        result = send(server, envelope("a@x.org", "b@x.org"), timeouts=timeouts)

    assert outcomes(result) == [Outcome.UNCERTAIN, Outcome.UNCERTAIN]
    assert result.uncertain
    assert len(server.mails) == 1


def test_a_drop_seen_before_the_dot_is_lost_even_when_the_body_had_gone_out() -> None:
    with ScriptedServer(answering({"body": DROP}), extensions=PLAIN) as server:
        connection = connect(server)
        big = envelope(raw=b"x: y\r\n\r\n" + b"z" * 70 + b"\r\n" * 4_000_000)
        result = connection.deliver(big, before_dot=lambda: pytest.fail("it was gone"))

    assert outcomes(result) == [Outcome.LOST]


def test_a_refusal_in_the_middle_of_the_body_is_heard() -> None:
    with ScriptedServer(answering({"body": "552 5.3.4 far too big"}), extensions=PLAIN) as server:
        connection = connect(server)

        def not_reached() -> None:
            pytest.fail("the server had refused it already")

        wait = envelope(raw=b"x: y\r\n\r\n" + b"z" * 70 + b"\r\n" * 2_000_000)
        result = connection.deliver(wait, before_dot=not_reached)

    assert outcomes(result)[0] in {Outcome.TOO_BIG, Outcome.LOST}  # a reset may swallow the reply
    assert not result.uncertain


def test_a_kept_connection_that_the_server_closed_is_stale_and_nothing_was_sent(
    good: ScriptedServer,
) -> None:
    connection = connect(good)
    connection.deliver(envelope(), before_dot=lambda: None)
    good.drop_all()

    with pytest.raises(StaleConnection):
        connection.deliver(envelope(), before_dot=lambda: None)

    assert not connection.usable
    assert len(good.mails) == 1


def test_quit_is_no_failure_when_the_server_is_gone() -> None:
    with ScriptedServer(answering({"QUIT": DROP})) as server:
        assert outcomes(send(server, envelope())) == [Outcome.ACCEPTED]


@pytest.mark.parametrize(
    ("stage", "expected"), [("MAIL", Outcome.LOST), ("dot", Outcome.UNCERTAIN)]
)
def test_abort_from_another_thread_ends_a_wait_at_once(stage: str, expected: Outcome) -> None:
    with ScriptedServer(answering({stage: HANG})) as server:
        connection = connect(server, timeouts=Timeouts(command=50, final=50))
        results: list[DeliveryResult] = []
        thread = threading.Thread(
            target=lambda: results.append(connection.deliver(envelope(), before_dot=lambda: None))
        )
        thread.start()
        wait_until(lambda: stage in server.stages())
        began = time.monotonic()
        connection.abort()
        thread.join(timeout=20)

    assert time.monotonic() - began < 20  # far from the 50 s it would have waited
    assert outcomes(results[0]) == [expected]
    assert not connection.usable


@pytest.mark.parametrize("garbage", ["hello", "", "999 what", "250-unfinished", "\u00ff\u00fe"])
def test_an_answer_that_is_not_smtp_never_counts_as_accepted(garbage: str) -> None:
    with ScriptedServer(answering({"dot": garbage})) as server:
        result = send(server, envelope(), timeouts=QUICK)

    assert not result.accepted
    assert not outcomes(result)[0].is_final
