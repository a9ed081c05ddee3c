"""Delivering queued mail over a real connection, to a server that behaves as told."""

from __future__ import annotations

import hashlib
import threading

import pytest
from django.db import connections

import emails
import emails.smtp
from emails.models import EmailBody, EmailJob
from emails.policy import email_policy, in_doubt
from jobs.claims import claim_rows
from jobs.clock import Now, ago
from tests.conftest import wait_until
from tests.emails.passes import (
    HALF_A_SECOND,
    at,
    deliver,
    make_due,
    new_context,
    process_apart,
    queue,
    waits_seconds,
)
from tests.emails.smtpd import DROP, HANG

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_mail_is_sent_as_it_was_queued(serve):
    server = serve()
    mail = queue("a@example.com", "b@example.com")

    assert deliver()["sent"] == 1

    (received,) = server.mails
    assert received.recipients == ("a@example.com", "b@example.com")
    assert received.data == bytes(EmailBody.objects.get(pk=mail.pk).raw)
    mail.refresh_from_db()
    assert (mail.status, mail.attempts, mail.outcome, mail.last_code) == ("sent", 0, "", 250)
    assert (mail.claim_token, mail.sending_since, mail.possible_duplicate) == (None, None, False)
    assert {item["state"] for item in mail.recipients} == {"accepted"}


def test_without_a_delivery_configured_mail_stays_queued(settings):
    settings.EMAIL_DELIVERY_URL = ""
    mail = queue("a@example.com")

    assert deliver() == {}

    mail.refresh_from_db()
    assert (mail.status, mail.attempts) == ("pending", 0)


@pytest.mark.parametrize("stage", ["connect", "EHLO"])
@pytest.mark.parametrize("answer", [HANG, DROP, "421 4.3.2 closing"])
def test_a_failure_before_mail_costs_no_attempt(serve, monkeypatch, stage, answer):
    monkeypatch.setattr(emails.smtp, "Timeouts", HALF_A_SECOND)
    server = serve(at(stage, answer, times=100))
    mail = queue("a@example.com")

    deliver()

    mail.refresh_from_db()
    assert (mail.status, mail.attempts, mail.possible_duplicate) == ("pending", 0, False)
    tries = server.connections
    deliver()
    mail.refresh_from_db()
    assert (mail.status, mail.attempts, server.connections) == ("pending", 0, tries)
    assert server.mails == []


@pytest.mark.parametrize(
    ("stage", "answer"),
    [(stage, answer) for stage in ("MAIL", "RCPT", "DATA") for answer in (HANG, DROP)]
    + [("body", DROP)],
)
def test_a_connection_that_fails_within_a_mail_costs_an_attempt(serve, monkeypatch, stage, answer):
    monkeypatch.setattr(emails.smtp, "Timeouts", HALF_A_SECOND)
    server = serve(at(stage, answer))
    mail = queue("a@example.com")

    deliver()

    mail.refresh_from_db()
    assert (mail.status, mail.attempts, mail.possible_duplicate) == ("failed", 1, False)
    assert mail.last_error.startswith("a@example.com: ")
    make_due()
    assert deliver()["sent"] == 1
    assert len(server.mails) == 1


@pytest.mark.parametrize("answer", [HANG, DROP])
def test_an_answer_that_never_comes_is_a_possible_duplicate_with_identical_bytes(
    serve, monkeypatch, answer
):
    monkeypatch.setattr(emails.smtp, "Timeouts", HALF_A_SECOND)
    server = serve(at("dot", answer))
    mail = queue("a@example.com")

    deliver()

    mail.refresh_from_db()
    assert (mail.status, mail.attempts, mail.possible_duplicate) == ("failed", 1, True)
    assert waits_seconds(mail) > 100
    make_due()
    assert deliver()["sent"] == 1
    assert len(server.mails) == 2
    assert len({hashlib.sha256(each.data).digest() for each in server.mails}) == 1
    mail.refresh_from_db()
    assert mail.possible_duplicate


def test_each_recipient_has_an_outcome_of_its_own(serve):
    answers = {"refused@example.com": "550 5.1.1 nobody", "later@example.com": "451 4.3.0 later"}
    server = serve(lambda step: answers.get(step.argument) if step.stage == "RCPT" else None)
    mail = queue("a@example.com", "refused@example.com", "later@example.com")

    deliver()

    mail.refresh_from_db()
    assert (mail.status, mail.attempts) == ("failed", 1)
    states = {item["address"]: (item["state"], item["code"]) for item in mail.recipients}
    assert states == {
        "a@example.com": ("accepted", 250),
        "refused@example.com": ("refused", 550),
        "later@example.com": ("pending", 451),
    }
    answers.clear()
    make_due()
    deliver()
    mail.refresh_from_db()
    assert (mail.status, mail.outcome) == ("sent", "partial")
    assert [each.recipients for each in server.mails] == [
        ("a@example.com",),
        ("later@example.com",),
    ]


def test_a_mail_that_all_refuse_is_a_dead_letter_at_the_first_attempt(serve):
    serve(lambda step: "550 5.1.1 nobody" if step.stage == "RCPT" else None)
    mail = queue("a@example.com", "b@example.com")

    assert deliver()["dead"] == 1

    mail.refresh_from_db()
    assert (mail.status, mail.attempts, mail.next_retry_at) == ("failed", 1, None)
    assert mail.last_code == 550
    assert mail.is_dead_letter


def test_a_mail_that_is_put_off_each_time_is_a_dead_letter_at_its_cap(serve):
    serve(lambda step: "451 4.3.0 later" if step.stage == "RCPT" else None)
    mail = queue("a@example.com", max_attempts=2)

    deliver()
    make_due()
    deliver()

    mail.refresh_from_db()
    assert (mail.status, mail.attempts, mail.next_retry_at) == ("failed", 2, None)


def test_too_many_recipients_are_split_at_once_and_nobody_gets_two(serve):
    def script(step):
        taken = step.stage == "RCPT" and int(step.argument[1:].partition("@")[0])
        first = {step.argument: step.mail for step in server.steps[::-1]}
        too_many = taken and taken % 3 == 0 and first[step.argument] == step.mail
        return "452 4.5.3 too many" if too_many else None

    server = serve(script)
    mail = queue(*(f"r{number}@example.com" for number in range(1, 7)))

    assert deliver()["sent"] == 1

    mail.refresh_from_db()
    assert (mail.status, mail.attempts, mail.outcome) == ("sent", 0, "")
    everyone = [address for each in server.mails for address in each.recipients]
    assert sorted(everyone) == [f"r{number}@example.com" for number in range(1, 7)]


def test_one_bad_mail_in_a_batch_holds_up_no_other(serve, settings):
    settings.EMAIL_CONNECTIONS = 1
    server = serve(lambda step: "554 5.6.0 no" if step.stage == "dot" and step.mail == 1 else None)
    mails = [queue(f"to{number}@example.com") for number in range(4)]

    deliver()

    statuses = [EmailJob.objects.get(pk=mail.pk).status for mail in mails]
    assert statuses == ["failed", "sent", "sent", "sent"]
    assert server.connections == 1


def test_what_has_expired_is_not_sent(serve):
    server = serve()
    mail = queue("a@example.com")
    EmailJob.objects.update(expires_at=ago(1000))

    deliver()

    mail.refresh_from_db()
    assert (mail.status, mail.outcome, mail.next_retry_at) == ("cancelled", "expired", None)
    assert server.mails == []


def test_a_cancelled_mail_is_not_sent(serve):
    server = serve()
    queue("a@example.com")
    EmailJob.objects.update(status="cancelled")

    deliver()

    assert server.mails == []


def test_a_mail_whose_body_was_removed_is_a_dead_letter_that_says_so(serve):
    serve()
    mail = queue("a@example.com")
    EmailBody.objects.all().delete()

    deliver()

    mail.refresh_from_db()
    assert mail.is_dead_letter
    assert "body" in mail.last_error


def test_a_mail_that_another_worker_has_taken_over_does_not_get_its_final_dot(serve, caplog):
    server = serve()
    queue("a@example.com")
    taken = threading.Event()

    def script(step):
        if step.stage == "DATA":
            EmailJob.objects.update(claim_token="00000000-0000-0000-0000-000000000000")
            connections.close_all()  # of the server's thread
            taken.set()

    server.script = script
    counts = deliver()

    assert taken.is_set()
    assert counts["lost"] == 1
    assert server.mails == []
    assert EmailJob.objects.get().status == "processing"
    assert [r.getMessage() for r in caplog.records if "stale_completion" in r.getMessage()] == [
        f"stale_completion_rejected queue=email_jobs id={EmailJob.objects.get().pk}"
    ]


def test_a_row_taken_back_after_its_final_dot_is_marked_whatever_the_worker_has_noted(serve):
    """The dot may go out in the moment in which the shutdown takes the row back."""
    serve()
    mail = queue("a@example.com")
    claim = claim_rows(email_policy())
    claim.begin(claim.rows[0])
    claim.note(claim.rows[0], sending_since=Now())

    claim.interrupt(claim.rows[0], possible_duplicate=in_doubt())

    mail.refresh_from_db()
    assert (mail.status, mail.possible_duplicate, mail.sending_since) == ("pending", True, None)


def test_a_stop_lets_a_mail_in_flight_end_and_gives_back_the_rest(serve, settings):
    settings.EMAIL_CONNECTIONS = 1
    go = threading.Event()
    server = serve(lambda step: go.wait(20) and None if step.stage == "dot" else None)
    mails = [queue(f"to{number}@example.com") for number in range(5)]
    context = new_context()
    running = threading.Thread(target=process_apart, args=(context,))
    running.start()
    wait_until(lambda: "dot" in server.stages())

    context.stop.set(grace_ms=20_000)
    wait_until(lambda: EmailJob.objects.filter(status="processing").count() == 1)
    go.set()
    running.join(20)

    states = [EmailJob.objects.get(pk=mail.pk) for mail in mails]
    assert [row.status for row in states] == ["sent", *["pending"] * 4]
    assert {(row.attempts, row.interruptions) for row in states} == {(0, 0)}
    assert len(server.mails) == 1
