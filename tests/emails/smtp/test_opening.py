"""Opening a connection: TLS, signing in, and failures that concern the channel."""

from __future__ import annotations

import pytest

from emails.errors import ChannelDown
from emails.replies import Outcome, Stage
from emails.smtp import Connection, Security, Server, Timeouts, open_connection
from tests.emails.smtp.conftest import PATIENT, QUICK, answering, connect, envelope, outcomes, send
from tests.emails.smtpd import CERTIFICATE, DROP, EVERYTHING, HANG, ScriptedServer, unused_port


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
