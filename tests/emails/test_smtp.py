"""A conversation with a real server over a socket, good and bad."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from emails.envelopes import DeliveryResult, Envelope
from emails.errors import ChannelDown, InvalidEnvelope, StaleConnection
from emails.replies import Outcome, Stage
from emails.smtp import Connection, Security, Server, Timeouts, open_connection
from tests.emails.smtpd import (
    CERTIFICATE,
    DROP,
    EVERYTHING,
    HANG,
    ScriptedServer,
    ServerProcess,
    Step,
    unused_port,
    wait_until,
)

PATIENT = Timeouts(connect=20, command=20, data=20, final=20)
QUICK = Timeouts(connect=20, command=0.3, data=0.3, final=0.3)  # against servers that hang
PLAIN = tuple(each for each in EVERYTHING if each != "PIPELINING")
RAW = b"Subject: hello\r\n\r\n.leading\r\n..two\r\nend\r\n"
BOTH_WAYS = pytest.mark.parametrize("extensions", [EVERYTHING, PLAIN], ids=["pipelined", "in turn"])


def envelope(*recipients: str, raw: bytes = RAW, mail_from: str = "from@example.org") -> Envelope:
    return Envelope(mail_from=mail_from, recipients=recipients or ("a@example.org",), raw=raw)


def answering(answers: dict[str, str]) -> Callable[[Step], str | None]:
    """Answer a stage, or a stage with its argument, by what is given for it."""
    return lambda step: answers.get(f"{step.stage} {step.argument}", answers.get(step.stage))


def connect(server: ScriptedServer, **options: object) -> Connection:
    timeouts = options.pop("timeouts", PATIENT)
    assert isinstance(timeouts, Timeouts)
    given = Server(host=server.host, port=server.port, **options)  # type: ignore[arg-type]
    return open_connection(given, timeouts=timeouts)


def send(server: ScriptedServer, mail: Envelope, **options: object) -> DeliveryResult:
    connection = connect(server, **options)
    try:
        return connection.deliver(mail, before_dot=lambda: None)
    finally:
        connection.quit()


def outcomes(result: DeliveryResult) -> list[Outcome]:
    return [recipient.outcome for recipient in result.recipients]


@pytest.fixture
def good() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


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


@pytest.mark.parametrize(
    ("answers", "stage"),
    [
        ({"connect": "421 4.3.2 busy"}, Stage.GREETING),
        ({"connect": "554 5.7.1 go away"}, Stage.GREETING),
        ({"connect": DROP}, Stage.GREETING),
        ({"connect": HANG}, Stage.GREETING),
        ({"EHLO": "421 4.3.2 busy"}, Stage.EHLO),
        ({"EHLO": DROP}, Stage.EHLO),
        ({"EHLO": HANG}, Stage.EHLO),
    ],
)
def test_a_failure_before_any_mail_is_one_of_the_channel(
    answers: dict[str, str], stage: Stage
) -> None:
    limits = Timeouts(connect=0.5, command=0.5) if HANG in answers.values() else PATIENT

    with ScriptedServer(answering(answers)) as server, pytest.raises(ChannelDown) as raised:
        connect(server, timeouts=limits)

    assert raised.value.error.stage is stage
    assert str(raised.value)


def test_a_refused_connection_is_a_failure_of_the_channel() -> None:
    with unused_port() as port, pytest.raises(ChannelDown) as raised:
        open_connection(Server(host="127.0.0.1", port=port), timeouts=QUICK)

    assert raised.value.error.stage is Stage.CONNECT
    assert "refused" in str(raised.value)


def test_a_reply_that_drips_ends_at_its_time_limit() -> None:
    with ScriptedServer(reply_byte_delay=0.1) as server, pytest.raises(ChannelDown) as raised:
        connect(server, timeouts=Timeouts(connect=0.4, command=0.4))

    assert "no reply within 0.4 s" in str(raised.value)


def test_starttls_with_a_certificate_that_is_trusted() -> None:
    with ScriptedServer(extensions=["STARTTLS", *EVERYTHING]) as server:
        result = send(server, envelope(), security=Security.STARTTLS, ca=str(CERTIFICATE))

    assert outcomes(result) == [Outcome.ACCEPTED]
    assert server.stages()[:4] == ["connect", "EHLO", "STARTTLS", "EHLO"]


def test_implicit_tls_with_a_certificate_that_is_trusted() -> None:
    with ScriptedServer(implicit_tls=True) as server:
        result = send(server, envelope(), security=Security.IMPLICIT, ca=str(CERTIFICATE))

    assert outcomes(result) == [Outcome.ACCEPTED]


@pytest.mark.parametrize("security", [Security.STARTTLS, Security.IMPLICIT])
def test_a_certificate_that_nobody_vouches_for_stops_the_channel(security: Security) -> None:
    implicit = security is Security.IMPLICIT
    with (
        ScriptedServer(extensions=["STARTTLS"], implicit_tls=implicit) as server,
        pytest.raises(ChannelDown, match="certificate verify failed"),
    ):
        connect(server, security=security)

    assert "MAIL" not in server.stages()


def test_verification_can_be_switched_off() -> None:
    with ScriptedServer(implicit_tls=True) as server:
        result = send(server, envelope(), security=Security.IMPLICIT, verify=False)

    assert outcomes(result) == [Outcome.ACCEPTED]


def test_nothing_is_said_in_clear_when_starttls_is_not_offered() -> None:
    with (
        ScriptedServer(credentials=("user", "secret")) as server,
        pytest.raises(ChannelDown, match="does not offer STARTTLS"),
    ):
        connect(server, security=Security.STARTTLS, user="user", password="secret")

    assert set(server.stages()) <= {"connect", "EHLO"}


def test_a_refused_starttls_is_a_failure_of_the_channel() -> None:
    script = answering({"STARTTLS": "454 4.7.0 not now"})
    with (
        ScriptedServer(script, extensions=["STARTTLS"]) as server,
        pytest.raises(ChannelDown) as raised,
    ):
        connect(server, security=Security.STARTTLS, verify=False)

    assert raised.value.error.stage is Stage.STARTTLS


@pytest.mark.parametrize("mechanism", ["PLAIN", "LOGIN"])
@pytest.mark.parametrize("password", ["secret", "pass wörd €"])
def test_signing_in(mechanism: str, password: str) -> None:
    server = ScriptedServer(credentials=("user", password), extensions=[f"AUTH {mechanism}"])
    with server:
        result = send(server, envelope(), user="user", password=password)

    assert outcomes(result) == [Outcome.ACCEPTED]


@pytest.mark.parametrize("mechanism", ["PLAIN", "LOGIN", "CRAM-MD5"])
def test_refused_credentials_stop_the_channel_and_are_shown_nowhere(mechanism: str) -> None:
    server = ScriptedServer(credentials=("user", "right"), extensions=[f"AUTH {mechanism}"])
    script = {"AUTH": "535 5.7.8 no"} if mechanism == "CRAM-MD5" else {}
    server.script = answering(script)
    with server, pytest.raises(ChannelDown) as raised:
        connect(server, user="user", password="wrongpass")

    assert raised.value.error.stage is Stage.AUTH
    assert "535" in str(raised.value)
    given = Server(host="h", port=1, user="user", password="wrongpass")
    assert "wrongpass" not in f"{raised.value!r}{raised.value}{given!r}{Connection(given)!r}"


def test_a_server_that_wants_credentials_and_got_none_stops_the_channel() -> None:
    with ScriptedServer(credentials=("user", "secret")) as server:
        result = send(server, envelope())

    assert result.channel_error is not None
    assert "530" in result.channel_error.text


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


def test_many_mails_on_one_connection_need_no_reset_between_them(good: ScriptedServer) -> None:
    connection = connect(good)

    for _ in range(3):
        assert connection.deliver(envelope(), before_dot=lambda: None).accepted
    connection.quit()

    assert good.connections == 1
    assert connection.messages == 3
    assert good.stages().count("RSET") == 0


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
