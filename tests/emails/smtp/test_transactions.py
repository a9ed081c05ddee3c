"""One mail on a connection: the very bytes, and an outcome for each recipient."""

from __future__ import annotations

from pathlib import Path

import pytest

from emails.envelopes import Envelope
from emails.errors import InvalidEnvelope
from emails.replies import Outcome
from emails.smtp import Server, open_connection
from tests.emails.smtp.conftest import BOTH_WAYS, RAW, answering, connect, envelope, outcomes, send
from tests.emails.smtpd import ScriptedServer, ServerProcess, Step, wait_until


@BOTH_WAYS
def test_the_server_gets_the_very_bytes_and_each_recipient_once(extensions: tuple[str]) -> None:
    with ScriptedServer(extensions=extensions) as server:
        result = send(server, envelope("a@example.org", "b@example.org"))

    assert outcomes(result) == [Outcome.ACCEPTED, Outcome.ACCEPTED]
    assert [mail.data for mail in server.mails] == [RAW]
    assert server.mails[0].recipients == ("a@example.org", "b@example.org")
    assert str(result.recipients[0].reply) == "250 2.0.0 taken"


def test_a_real_server_in_another_process_takes_many_mails_on_one_connection(
    tmp_path: Path,
) -> None:
    with ServerProcess(tmp_path / "log") as server:
        connection = open_connection(Server(host="127.0.0.1", port=server.port))
        for number in range(20):
            mail = envelope(raw=RAW + f"{number}\r\n".encode())
            assert connection.deliver(mail, before_dot=lambda: None).accepted
        connection.quit()
        mails = server.mails()

    assert [mail["data"].encode() for mail in mails] == [RAW + b"%d\r\n" % n for n in range(20)]
    assert len({mail["peer"] for mail in mails}) == 1


def test_pipelined_commands_go_out_in_one_write(good: ScriptedServer) -> None:
    send(good, envelope("a@example.org", "b@example.org"))

    group = next(data for data in good.writes if data.startswith(b"MAIL"))
    assert group.count(b"\r\n") == 4
    assert group.endswith(b"DATA\r\n")


def test_the_body_is_out_and_the_dot_is_not_when_the_caller_is_asked(good: ScriptedServer) -> None:
    connection = connect(good)
    seen: list[bool] = []

    def before_dot() -> None:
        wait_until(lambda: b"".join(good.writes).endswith(b"end\r\n"))
        seen.append("dot" in good.stages())

    connection.deliver(envelope(), before_dot=before_dot)
    connection.quit()
    assert seen == [False]
    assert len(good.mails) == 1


@pytest.mark.parametrize("error", [OSError("the database is gone"), KeyboardInterrupt()])
def test_what_the_caller_raises_before_the_dot_goes_through_and_no_mail_is_sent(
    good: ScriptedServer, error: BaseException
) -> None:
    connection = connect(good)

    def before_dot() -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        connection.deliver(envelope(), before_dot=before_dot)
    assert raised.value is error
    assert not connection.usable
    good.__exit__()
    assert good.mails == []
    assert "dot" not in good.stages()


@BOTH_WAYS
def test_each_recipient_has_an_outcome_of_its_own(extensions: tuple[str]) -> None:
    script = answering(
        {"RCPT bad@x.org": "550 5.1.1 unknown", "RCPT grey@x.org": "451 4.7.1 later"}
    )

    with ScriptedServer(script, extensions=extensions) as server:
        result = send(server, envelope("good@x.org", "bad@x.org", "grey@x.org"))

    assert outcomes(result) == [Outcome.ACCEPTED, Outcome.REFUSED, Outcome.RETRY]
    assert server.mails[0].recipients == ("good@x.org",)
    assert result.pending == ("grey@x.org",)
    assert result.recipients[1].text == "550 5.1.1 unknown"


@BOTH_WAYS
def test_no_data_follows_when_no_recipient_was_taken(extensions: tuple[str]) -> None:
    with ScriptedServer(answering({"RCPT": "550 5.1.1 no"}), extensions=extensions) as server:
        connection = connect(server)
        first = connection.deliver(envelope(), before_dot=lambda: pytest.fail("no mail to dot"))
        server.script = None
        second = connection.deliver(envelope(), before_dot=lambda: None)
        connection.quit()

    assert outcomes(first) == [Outcome.REFUSED]
    assert outcomes(second) == [Outcome.ACCEPTED]
    assert "RSET" in server.stages()
    assert server.connections == 1
    assert len(server.mails) == 1


def test_a_pipelining_server_that_takes_data_for_nobody_gets_a_lone_dot() -> None:
    script = answering({"RCPT": "550 5.1.1 no", "DATA": "354 go on", "dot": "554 5.5.1 nobody"})

    with ScriptedServer(script) as server:
        connection = connect(server)
        result = connection.deliver(envelope(), before_dot=lambda: pytest.fail("no mail to dot"))
        again = connection.usable and connection.reset()
        connection.quit()

    assert outcomes(result) == [Outcome.REFUSED]
    assert result.recipients[0].text == "550 5.1.1 no"
    assert server.mails == []
    assert again


@BOTH_WAYS
def test_too_many_recipients_leave_the_rest_for_the_next_transaction(
    extensions: tuple[str],
) -> None:
    def script(step: Step) -> str | None:
        above = step.stage == "RCPT" and len(server.arguments("RCPT")) > 100 and step.mail == 1
        return "452 4.5.3 too many recipients" if above else None

    addresses = [f"r{number}@example.org" for number in range(250)]
    with ScriptedServer(script, extensions=extensions) as server:
        connection = connect(server)
        first = connection.deliver(envelope(*addresses), before_dot=lambda: None)
        second = connection.deliver(envelope(*first.pending), before_dot=lambda: None)
        connection.quit()

    assert first.rest_at_once
    assert first.accepted == tuple(addresses[:100])
    assert second.accepted == tuple(addresses[100:])
    assert not first.counts_an_attempt


def test_too_many_at_the_first_recipient_is_a_retry_and_no_endless_round() -> None:
    with ScriptedServer(answering({"RCPT": "452 4.5.3 too many"})) as server:
        result = send(server, envelope("a@x.org", "b@x.org"))

    assert outcomes(result) == [Outcome.RETRY, Outcome.RETRY]
    assert not result.rest_at_once


@BOTH_WAYS
@pytest.mark.parametrize(
    ("stage", "answer", "expected"),
    [
        ("MAIL", "550 5.1.8 bad sender", Outcome.REFUSED),
        ("MAIL", "451 4.3.0 try later", Outcome.RETRY),
        ("DATA", "451 4.3.0 try later", Outcome.RETRY),
        ("DATA", "554 5.7.1 no", Outcome.REFUSED),
        ("dot", "451 4.3.0 try later", Outcome.RETRY),
        ("dot", "554 5.7.1 spam", Outcome.REFUSED),
        ("dot", "421 4.3.2 shutting down", Outcome.RETRY),
        ("RCPT", "450 4.7.1 slow down", Outcome.THROTTLED_DOMAIN),
        ("RCPT", "421 4.7.0 slow down", Outcome.THROTTLED_DOMAIN),
        ("RCPT", "552 5.2.2 mailbox full", Outcome.RETRY),
    ],
)
def test_a_reply_at_each_stage_decides_for_the_recipients_it_concerns(
    extensions: tuple[str], stage: str, answer: str, expected: Outcome
) -> None:
    with ScriptedServer(answering({stage: answer}), extensions=extensions) as server:
        result = send(server, envelope())

    assert outcomes(result) == [expected]
    assert result.recipients[0].text == answer
    assert result.channel_error is None
    assert not result.uncertain


@BOTH_WAYS
@pytest.mark.parametrize(
    ("stage", "answer"),
    [("MAIL", "421 4.3.2 closing"), ("MAIL", "530 5.7.0 sign in"), ("RCPT", "421 4.3.2 closing")],
)
def test_a_channel_failure_within_a_mail_counts_no_attempt(
    extensions: tuple[str], stage: str, answer: str
) -> None:
    with ScriptedServer(answering({stage: answer}), extensions=extensions) as server:
        result = send(server, envelope("a@x.org", "b@x.org"))

    assert outcomes(result) == [Outcome.CHANNEL, Outcome.CHANNEL]
    assert result.channel_error is not None
    assert result.channel_error.stage.value == stage
    assert answer in result.channel_error.text
    assert not result.counts_an_attempt


def test_a_refusal_before_the_channel_failed_stands() -> None:
    script = answering({"RCPT bad@x.org": "550 5.1.1 no", "RCPT b@x.org": "421 4.3.2 closing"})

    with ScriptedServer(script) as server:
        result = send(server, envelope("a@x.org", "bad@x.org", "b@x.org", "c@x.org"))

    channel = Outcome.CHANNEL
    assert outcomes(result) == [channel, Outcome.REFUSED, channel, channel]


def test_bare_line_ends_cannot_smuggle_a_second_mail(good: ScriptedServer) -> None:
    smuggled = (
        b"Subject: x\r\n\r\nhi\n.\nMAIL FROM:<evil@x.org>\r.\rRCPT TO:<v@x.org>\r\n.\r\nDATA\r\n"
    )

    send(good, envelope(raw=smuggled))

    assert len(good.mails) == 1
    assert good.arguments("RCPT") == ["a@example.org"]
    assert b"\n.\r\n" in good.mails[0].data


@pytest.mark.parametrize("address", ["a@x\r\nRCPT TO:<e@x>", "a\0@x", "a@x\n", "\udc80@x"])
def test_an_envelope_takes_no_address_that_breaks_out(address: str) -> None:
    with pytest.raises(InvalidEnvelope):
        envelope(address)


def test_a_mail_for_nobody_says_nothing(good: ScriptedServer) -> None:
    connection = connect(good)

    result = connection.deliver(
        Envelope(mail_from="a@x.org", recipients=(), raw=RAW), before_dot=lambda: None
    )

    connection.quit()
    assert result.recipients == ()
    assert "MAIL" not in good.stages()


def test_an_address_given_twice_gets_one_rcpt(good: ScriptedServer) -> None:
    result = send(good, envelope("a@x.org", "a@x.org"))

    assert result.accepted == ("a@x.org",)
    assert good.arguments("RCPT") == ["a@x.org"]


def test_many_mails_on_one_connection_need_no_reset_between_them(good: ScriptedServer) -> None:
    connection = connect(good)

    for _ in range(3):
        assert connection.deliver(envelope(), before_dot=lambda: None).accepted
    connection.quit()

    assert good.connections == 1
    assert connection.messages == 3
    assert good.stages().count("RSET") == 0
