"""A domain that asks for patience waits alone."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

import emails
from emails.channel import Channel
from emails.delivery import parse_delivery_url
from emails.envelopes import DeliveryResult, RecipientResult
from emails.gate import admit
from emails.models import EmailDomain, EmailJob
from emails.recipients import Verdict, settle
from emails.replies import Outcome, parse_reply
from emails.throttles import Throttles, delay_seconds
from jobs.testing import database_clock
from tests.emails.conftest import message
from tests.emails.smtpd import ScriptedServer

NOON = dt.datetime.now(dt.UTC).replace(microsecond=0) + dt.timedelta(minutes=1)
SLOW = parse_reply(450, b"4.7.1 too many connections, slow down")


class Relay(ScriptedServer):
    """Asks for patience at the recipients of slow.example, until it is told not to."""

    def __init__(self, answer: str) -> None:
        super().__init__(script=self._decide)
        self.answer: str | None = answer
        self.named: list[str] = []

    def _decide(self, step):
        if step.stage != "RCPT" or "slow.example" not in step.argument.lower():
            return None
        self.named.append(step.argument)
        return self.answer


@pytest.fixture(params=["450 4.7.1 slow down", "421 4.7.0 slow down"], ids=["450", "421"])
def relay(request, deliver_to):
    with Relay(request.param) as server:
        deliver_to(server.port)
        yield server


def states(row: EmailJob) -> tuple[str, int, list[str]]:
    row.refresh_from_db()
    return row.status, row.attempts, [item["state"] for item in row.recipients]


def arrived(relay: Relay) -> set[str]:
    return {address for mail in relay.mails for address in mail.recipients}


def test_one_domain_alone_waits_and_is_tried_once_per_delay(work, relay, settings):
    settings.EMAIL_CONNECTIONS = 1
    slow = [emails.enqueue(message(f"{number}@Slow.example")) for number in range(5)]
    mixed = emails.enqueue(message("x@slow.example", "x@fast.example"))
    fast = emails.enqueue(message("y@fast.example"))

    with database_clock(NOON) as clock:
        work()
        work()
        before = list(relay.named)
        waiting = [states(row) for row in (*slow, mixed, fast)]
        due = set(EmailJob.objects.filter(status="pending").values_list("next_retry_at", flat=True))
        relay.answer = None
        clock.advance(seconds=31)
        relay.named.clear()
        # What waits is measured by this process's clock, too.
        EmailDomain.objects.update(next_allowed_at=clock.at)
        work()

    assert len(before) == 1
    assert waiting == [
        *[("pending", 0, ["pending"])] * 5,
        ("pending", 0, ["pending", "accepted"]),
        ("sent", 0, ["accepted"]),
    ]
    assert max(due) <= NOON + dt.timedelta(seconds=31)
    assert arrived(relay) == {
        "x@fast.example", "y@fast.example", "x@slow.example",
        *(f"{number}@Slow.example" for number in range(5)),
    }  # fmt: skip
    assert {states(row)[0] for row in (*slow, mixed)} == {"sent"}
    assert sum("x@fast.example" in mail.recipients for mail in relay.mails) == 1
    assert not EmailDomain.objects.exists()


def test_waiting_for_a_domain_ends_after_a_day_and_some_attempts(work, deliver_to):
    with Relay("450 4.7.1 never") as relay:
        deliver_to(relay.port)
        row = emails.enqueue(message("a@slow.example"))
        with database_clock(NOON) as clock:
            for _ in range(8):
                work()
                clock.advance(minutes=20)
            young = states(row)
            clock.advance(days=1)
            for _ in range(8):
                EmailDomain.objects.update(next_allowed_at=clock.at)
                work()
                clock.advance(minutes=40)

    assert young == ("pending", 0, ["pending"])
    assert states(row) == ("failed", 5, ["pending"])
    assert row.next_retry_at is None
    assert "450 4.7.1" in row.last_error


@given(st.integers(min_value=1, max_value=10_000))
def test_delays_double_up_to_a_quarter_of_an_hour(failures):
    assert delay_seconds(failures) == min(900, 30 * 2 ** min(failures - 1, 20))


@pytest.mark.django_db
def test_throttles_in_flight_together_are_one_and_one_that_goes_on_is_longer():
    with database_clock(NOON) as clock:
        first, other = Throttles(), Throttles()
        waits = [first.hold("Slow.example", SLOW), other.hold("slow.example", SLOW)]
        clock.advance(seconds=30)
        waits.append(other.hold("slow.example", SLOW))
        clock.advance(days=2)
        waits.append(first.hold("slow.example", SLOW))
        admit(Channel(parse_delivery_url("smtp://127.0.0.1")), first)
        seen = first.seconds_left("SLOW.example")

    assert waits == [30, 30, 60, 30]
    assert 29 < seen <= 30
    assert first.seconds_left("fast.example") == 0
    assert EmailDomain.objects.get().last_error == str(SLOW)


def test_at_the_last_attempt_a_recipient_that_only_waits_is_not_given_up():
    recipients = [
        {"address": f"{name}@{name}.example", "domain": f"{name}.example", "state": "pending"}
        for name in ("grey", "slow", "held")
    ]
    result = DeliveryResult(
        recipients=(
            RecipientResult(
                address="grey@grey.example",
                outcome=Outcome.RETRY,
                reply=parse_reply(451, b"4.3.0 later"),
            ),
            RecipientResult(
                address="slow@slow.example", outcome=Outcome.THROTTLED_DOMAIN, reply=SLOW
            ),
        )
    )

    last = settle(recipients, result, attempts=4, max_attempts=5)
    impatient = settle(recipients, result, attempts=4, max_attempts=5, is_patient=False)
    earlier = settle(recipients, result, attempts=3, max_attempts=5)

    assert [item["state"] for item in last.recipients] == ["refused", "pending", "pending"]
    assert last.verdict is Verdict.GIVE_BACK
    assert impatient.verdict is earlier.verdict is Verdict.RETRY
