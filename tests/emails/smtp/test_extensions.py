"""What a server offers is used, and what it does not offer is not."""

from __future__ import annotations

import pytest

from emails.replies import Outcome
from tests.emails.smtp.conftest import answering, connect, envelope, outcomes, send
from tests.emails.smtpd import ScriptedServer


def test_a_mail_above_the_servers_size_is_refused_without_sending_it() -> None:
    with ScriptedServer(extensions=["SIZE 1000", "PIPELINING"]) as server:
        connection = connect(server)
        big = connection.deliver(envelope(raw=b"x" * 1001), before_dot=lambda: None)
        fitting = connection.deliver(envelope(raw=b"x" * 900 + b"\r\n"), before_dot=lambda: None)
        connection.quit()

    assert outcomes(big) == [Outcome.TOO_BIG]
    assert "1001" in big.recipients[0].text
    assert "1000" in big.recipients[0].text
    assert outcomes(fitting) == [Outcome.ACCEPTED]
    assert server.mails[0].mail_from.endswith("SIZE=902")


@pytest.mark.parametrize("size", ["SIZE", "SIZE 0", "SIZE none"])
def test_a_server_without_a_size_limit_takes_any(size: str) -> None:
    with ScriptedServer(extensions=[size]) as server:
        assert outcomes(send(server, envelope(raw=b"x\r\n" * 9999))) == [Outcome.ACCEPTED]


def test_smtputf8_is_used_where_an_address_needs_it(good: ScriptedServer) -> None:
    result = send(good, envelope("jörg@example.org", "a@example.org"))

    assert outcomes(result) == [Outcome.ACCEPTED, Outcome.ACCEPTED]
    assert good.arguments("RCPT") == ["jörg@example.org", "a@example.org"]
    assert "SMTPUTF8" in good.mails[0].mail_from


def test_smtputf8_is_not_asked_for_without_need(good: ScriptedServer) -> None:
    send(good, envelope())

    assert "SMTPUTF8" not in good.mails[0].mail_from
    assert "8BITMIME" not in good.mails[0].mail_from


def test_without_smtputf8_only_the_address_that_needs_it_fails() -> None:
    with ScriptedServer(extensions=["PIPELINING"]) as server:
        result = send(server, envelope("jörg@example.org", "a@example.org"))

    assert outcomes(result) == [Outcome.NEEDS_SMTPUTF8, Outcome.ACCEPTED]
    assert "SMTPUTF8" in result.recipients[0].text
    assert server.arguments("RCPT") == ["a@example.org"]


def test_a_sender_that_needs_smtputf8_stops_the_whole_mail_without_it() -> None:
    with ScriptedServer(extensions=[]) as server:
        result = send(server, envelope(mail_from="jörg@example.org"))

    assert outcomes(result) == [Outcome.NEEDS_SMTPUTF8]
    assert "MAIL" not in server.stages()


def test_8bit_bytes_are_announced_where_the_server_takes_them(good: ScriptedServer) -> None:
    send(good, envelope(raw="Subject: x\r\n\r\nGrüße\r\n".encode()))

    assert "BODY=8BITMIME" in good.mails[0].mail_from


def test_a_server_that_knows_helo_only_still_gets_its_mail() -> None:
    with ScriptedServer(answering({"EHLO": "502 5.5.1 unknown"})) as server:
        result = send(server, envelope())

    assert outcomes(result) == [Outcome.ACCEPTED]
