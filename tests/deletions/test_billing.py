"""The billing step against a real HTTP server."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deletions
from deletions import billing as step
from deletions import posting
from deletions.checks import check_billing
from deletions.models import BillingAudit, BillingOutcome
from deletions.posting import Posted
from tests.deletions.conftest import step_of, steps_of


def test_the_request_is_signed_and_carries_customer_and_key(user, work, billing):
    deletion = deletions.request(user, requested_by=user)

    work()

    (received,) = billing.received
    assert received.is_signed
    assert received.body["customer"] == str(user.pk)
    assert received.body["type"] == "customer.cancel"
    key = step_of(deletion, "billing").idempotency_key
    assert received.headers["idempotency-key"] == received.headers["webhook-id"] == key
    assert abs(int(received.headers["webhook-timestamp"]) - time.time()) < 60


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (204, ""),
        (404, "no such customer"),
        (410, ""),
        (400, '{"error": {"code": "subscription_already_canceled"}}'),
        (409, "This subscription has already been cancelled."),
    ],
)
def test_already_gone_is_done_at_the_first_attempt(user, work, billing, status, text):
    billing.answer = (status, text)
    deletion = deletions.request(user, requested_by=user)

    work()

    deletion.refresh_from_db()
    assert (deletion.status, deletion.attempts) == ("done", 1)
    assert len(billing.received) == 1
    (call,) = BillingAudit.objects.all()
    assert (call.deletion_id, call.status_code, call.answer) == (deletion.pk, status, "")


@pytest.mark.parametrize("status", [302, 401, 409, 503])
def test_anything_else_is_a_failure_with_its_answer_and_one_request(user, work, billing, status):
    billing.answer = (status, "not today, token=abc123")
    deletion = deletions.request(user, requested_by=user)

    work()

    assert steps_of(deletion)["billing"] == "failed"
    assert len(billing.received) == 1
    (call,) = BillingAudit.objects.all()
    assert (call.outcome, call.status_code) == ("failed", status)
    assert call.answer == "not today, token=****"
    assert f"answered {status}: not today" in step_of(deletion, "billing").detail
    assert call.milliseconds is not None


def test_nobody_listening_is_a_failure_and_a_call_of_the_audit(user, work, settings):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    settings.BILLING_URL = f"http://ben:geheim@127.0.0.1:{port}/cancel"
    settings.BILLING_SECRET = "x"
    deletion = deletions.request(user, requested_by=user)

    work()

    detail = step_of(deletion, "billing").detail
    assert detail.startswith(f"No answer from http://ben:****@127.0.0.1:{port}/cancel: ")
    (call,) = BillingAudit.objects.all()
    assert (call.outcome, call.status_code) == ("failed", None)
    assert "geheim" not in call.url + call.answer + detail


def test_a_service_that_never_answers_is_given_up_within_the_limit(
    user, work, billing, monkeypatch
):
    release = threading.Event()
    billing.before_answer = lambda: release.wait(20)
    monkeypatch.setattr(posting, "TOTAL_SECONDS", 0.5)
    monkeypatch.setitem(posting.post.__kwdefaults__, "seconds", 0.5)
    deletion = deletions.request(user, requested_by=user)

    work()
    release.set()

    assert steps_of(deletion)["billing"] == "failed"
    (call,) = BillingAudit.objects.all()
    assert call.outcome == "failed"


def test_a_call_is_in_the_audit_before_it_is_answered(user, work, billing):
    seen: list[str] = []

    def look() -> None:
        from django.db import connection

        seen.extend(BillingAudit.objects.values_list("outcome", flat=True))
        connection.close()

    billing.before_answer = look
    deletions.request(user, requested_by=user)

    work()

    assert seen == ["unknown"]
    assert BillingAudit.objects.get().outcome == "cancelled"


def test_an_address_without_a_secret_is_refused_by_check_and_by_the_step(user, work, settings):
    settings.BILLING_URL = "https://billing.example/cancel"
    settings.BILLING_SECRET = ""
    deletion = deletions.request(user, requested_by=user)

    work()

    assert [message.id for message in check_billing()] == ["deletions.E004"]
    assert "BILLING_SECRET" in step_of(deletion, "billing").detail


def test_a_secret_of_standard_webhooks_is_taken_as_its_bytes():
    # The example of the specification's reference libraries.
    made = step.signature(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        key="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp="1614265330",
        body=b'{"test": 2432232314}',
    )

    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(status=st.integers(100, 599), text=st.text(max_size=200))
def test_only_success_and_gone_count_as_done(status, text):
    outcome = step.outcome_of(Posted(status=status, text=text))

    done = 200 <= status < 300 or status in (404, 410)
    said = 400 <= status < 500 and step.ALREADY.search(text)
    assert (outcome is not BillingOutcome.FAILED) == bool(done or said)
