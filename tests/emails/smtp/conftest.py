"""What tests of SMTP share: a server that follows a script, and mail for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from emails.envelopes import DeliveryResult, Envelope
from emails.replies import Outcome
from emails.smtp import Connection, Server, Timeouts, open_connection
from tests.emails.smtpd import EVERYTHING, ScriptedServer, Step

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
