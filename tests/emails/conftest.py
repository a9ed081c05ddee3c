"""The mail queue worked on in this process, against real servers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from django.core.mail import EmailMessage

from emails.processor import transports
from jobs.context import RunContext
from jobs.declarations import registry
from jobs.models.run import Trigger
from jobs.runner import PassRunner
from tests.emails.smtpd import ScriptedServer

Work = Callable[[], Counter[str]]


def message(*to: str, subject: str = "An order", **options: object) -> EmailMessage:
    """Return a mail to these addresses."""
    recipients = list(to) or ["a@example.com"]
    return EmailMessage(subject, "On its way.", "shop@example.org", recipients, **options)


@pytest.fixture
def work(transactional_db, queue_backend) -> Iterator[Work]:
    """Run one pass of the processor, as a worker would; returns what it counted."""

    def run() -> Counter[str]:
        context = RunContext(declaration=registry.get("emails.processor"), trigger=Trigger.SCHEDULE)
        PassRunner(context.declaration).run(context)
        return context.counts

    yield run
    transports.close()


@pytest.fixture
def deliver_to(settings) -> Callable[[int], None]:
    """Set the port of the relay."""

    def point(port: int) -> None:
        settings.EMAIL_DELIVERY_URL = f"smtp://127.0.0.1:{port}"

    return point


@pytest.fixture
def serve(settings):
    """Start a server that every mail goes to."""
    servers = []

    def start(script=None, **options):
        server = ScriptedServer(script=script, **options).__enter__()
        servers.append(server)
        settings.EMAIL_DELIVERY_URL = f"smtp://127.0.0.1:{server.port}"
        return server

    settings.RETRY_BACKOFF_MS = (1000,)
    yield start
    transports.close()
    for server in servers:
        server.__exit__(None, None, None)
