"""The delivery URL is read, or refused without showing its password; a transport delivers."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emails.delivery import (
    DeliveryURL,
    Scheme,
    SMTPTransport,
    mask,
    open_transport,
    parse_delivery_url,
)
from emails.envelopes import Envelope
from emails.errors import InvalidDeliveryURL, PoolClosed
from emails.files import ConsoleTransport, FileTransport
from emails.replies import Outcome, Stage
from emails.smtp import Security, Server
from tests.emails.smtpd import (
    CERTIFICATE,
    DROP,
    HANG,
    ScriptedServer,
    Step,
    unused_port,
    wait_until,
)

MAIL = Envelope(
    mail_from="f@example.org",
    recipients=("a@example.org", "b@example.org"),
    raw=b"Subject: x\r\n\r\nhi\r\n",
    name="7",
)


def nothing() -> None:
    """Commit nothing before the dot."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("smtp://mail.example.org", Server(host="mail.example.org", port=25)),
        ("smtp://mail.example.org:2525", Server(host="mail.example.org", port=2525)),
        ("smtp://[::1]:2525", Server(host="::1", port=2525)),
        (
            "smtps://user:pass@mail.example.org",
            Server(
                host="mail.example.org",
                port=465,
                security=Security.IMPLICIT,
                user="user",
                password="pass",
            ),
        ),
        (
            "smtp+tls://us%40er:p%2F%23%3A%40%C3%A4@h.example/?verify=off",
            Server(
                host="h.example",
                port=587,
                security=Security.STARTTLS,
                user="us@er",
                password="p/#:@ä",
                verify=False,
            ),
        ),
        (
            f"smtps://h.example?ca={CERTIFICATE}",
            Server(host="h.example", port=465, security=Security.IMPLICIT, ca=str(CERTIFICATE)),
        ),
    ],
)
def test_an_smtp_url_names_the_server(text: str, expected: Server) -> None:
    assert parse_delivery_url(text).server == expected


@pytest.mark.parametrize(
    ("text", "directory"),
    [
        ("file:///var/mail/out", "/var/mail/out"),
        ("file:///var/mail%20out/", "/var/mail out"),
        ("  file:///var/out\n", "/var/out"),
    ],
)
def test_a_file_url_names_a_directory(text: str, directory: str) -> None:
    assert parse_delivery_url(text).directory == Path(directory)


@pytest.mark.parametrize("text", ["console:", "console://"])
def test_the_console_is_named_either_way(text: str) -> None:
    assert parse_delivery_url(text).scheme is Scheme.CONSOLE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mail.example.org",
        "http://mail.example.org",
        "smtp:",
        "smtp://",
        "smtp://:25",
        "smtp://h:0",
        "smtp://h:65536",
        "smtp://h:x",
        "smtp://[::1",
        "smtp://h/path",
        "smtp://h?timeout=3",
        "smtp://h?verify=maybe",
        "smtp://h?ca=/no/such/file",
        "smtp://user@h",
        "smtp://h#x",
        "smtp://a b",
        "file://relative/dir",
        "file:relative",
        "file:///",
        "file:",
        "console:x",
        "console://host",
        "dummy://",
    ],
)
def test_anything_else_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(InvalidDeliveryURL) as raised:
        parse_delivery_url(text, variable="EMAIL_DELIVERY_URL")

    message = str(raised.value)
    assert message.startswith("EMAIL_DELIVERY_URL=")
    assert "Allowed are smtp://" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "text",
    [
        "smtp://user:hunter2@h",
        "smtp://user:hunter2@h:x",
        "smtp://user:hunter2/x@h",
        "smtp://user:hunter2#x@h",
        "smtp://user:hun@ter2@h:0",
        "smtp://user:x?hunter2@h",
        "smtp://user:hunter2",
        "http://user:hunter2@h",
        "smtp://user:hunter2@h?verify=x",
        "smtp://user:hunter2 @h",
        "smtps://us:hunter2@[::1",
    ],
)
def test_a_password_is_shown_nowhere(text: str) -> None:
    try:
        shown = repr(parse_delivery_url(text)) + str(parse_delivery_url(text))
    except InvalidDeliveryURL as error:
        shown = f"{error} {error!r} {error.__cause__!r}"

    assert "hunter2" not in shown
    assert "ter2" not in shown


@given(password=st.text(st.characters(exclude_categories=["Cs"]), min_size=6))
def test_no_password_with_an_at_sign_after_it_survives_the_mask(password: str) -> None:
    masked = mask(f"smtp://user:{password}@host")

    assert masked == "smtp://user:***@host"


@given(text=st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(InvalidDeliveryURL):
        assert isinstance(parse_delivery_url(text), DeliveryURL)


def test_each_url_opens_its_transport(tmp_path: Path) -> None:
    opened = [
        open_transport(parse_delivery_url(text))
        for text in ("smtp://127.0.0.1:1", f"file://{tmp_path}", "console:")
    ]

    assert [type(each) for each in opened] == [SMTPTransport, FileTransport, ConsoleTransport]
    for each in opened:
        each.close()


def test_a_mail_goes_over_smtp() -> None:
    with ScriptedServer() as server:
        transport = open_transport(parse_delivery_url(f"smtp://127.0.0.1:{server.port}"))
        result = transport.deliver(MAIL, before_dot=nothing)
        transport.close()

    assert result.accepted == MAIL.recipients
    assert server.mails[0].data == MAIL.raw


def test_a_server_that_is_down_is_a_result_and_no_exception() -> None:
    with unused_port() as port:
        transport = open_transport(parse_delivery_url(f"smtp://127.0.0.1:{port}"))
        result = transport.deliver(MAIL, before_dot=nothing)

    assert result.channel_error is not None
    assert result.channel_error.stage is Stage.CONNECT
    assert [each.outcome for each in result.recipients] == [Outcome.CHANNEL] * 2
    assert result.pending == MAIL.recipients
    assert not result.counts_an_attempt


def test_connections_that_the_server_closed_meanwhile_cost_no_attempt() -> None:
    with ScriptedServer() as server:
        transport = SMTPTransport(Server(host="127.0.0.1", port=server.port), connections=3)
        together = threading.Barrier(3)
        threads = [
            threading.Thread(
                target=transport.deliver,
                args=(MAIL,),
                kwargs={"before_dot": lambda: together.wait(timeout=20)},
            )
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=20)
        server.drop_all()

        result = transport.deliver(MAIL, before_dot=nothing)
        transport.close()

    assert result.accepted == MAIL.recipients
    assert len(server.mails) == 4
    assert server.connections == 4


def test_a_fresh_connection_that_drops_is_tried_once_only() -> None:
    with ScriptedServer(lambda step: DROP if step.stage == "MAIL" else None) as server:
        transport = SMTPTransport(Server(host="127.0.0.1", port=server.port), connections=1)
        result = transport.deliver(MAIL, before_dot=nothing)
        transport.close()

    assert [each.outcome for each in result.recipients] == [Outcome.LOST] * 2
    assert server.connections == 1


def test_421_at_the_second_mail_stops_there_and_the_next_opens_a_new_connection() -> None:
    def script(step: Step) -> str | None:
        return "421 4.3.2 enough" if step.stage == "MAIL" and step.count == 2 else None

    with ScriptedServer(script) as server:
        transport = SMTPTransport(Server(host="127.0.0.1", port=server.port), connections=1)
        results = [transport.deliver(MAIL, before_dot=nothing) for _ in range(3)]
        transport.close()

    assert [bool(result.accepted) for result in results] == [True, False, True]
    assert results[1].channel_error is not None
    assert server.connections == 2


def test_abort_makes_a_stuck_delivery_uncertain_and_the_transport_unusable() -> None:
    with ScriptedServer(lambda step: HANG if step.stage == "dot" else None) as server:
        transport = SMTPTransport(Server(host="127.0.0.1", port=server.port), connections=1)
        uncertain: list[bool] = []
        thread = threading.Thread(
            target=lambda: uncertain.append(transport.deliver(MAIL, before_dot=nothing).uncertain)
        )
        thread.start()
        wait_until(lambda: "dot" in server.stages())
        transport.abort()
        thread.join(timeout=20)

    assert uncertain == [True]
    with pytest.raises(PoolClosed):
        transport.deliver(MAIL, before_dot=nothing)
