"""Deletions of users from the request to the proof."""

from __future__ import annotations

import json
import logging

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.test import Client

import deletions
import emails
from deletions.models import UserDeletion
from deletions.policy import deletion_policy
from deletions.verbs import requeue
from emails.models import EmailJob
from jobs.alerts.evaluate import evaluate
from jobs.models import Alert, AuditLog
from jobs.models.audit import Via
from jobs.stopping import StopSignal
from tests.crash.mails import message
from tests.deletions.conftest import is_gone, step_of, steps_of
from tests.deletions.shop import steps
from tests.deletions.shop.models import Order
from tests.deletions.stepping import SHIPPED, SHOP, exhaust
from tests.factories import UserFactory


def test_a_deletion_is_done_in_one_pass_and_leaves_a_proof_without_personal_data(
    user, work, billing, backup_dir
):
    Order.objects.create(user=user)
    deletion = deletions.request(user, requested_by=user, reason="ben moves to Kiel")

    assert work()["done"] == 1

    deletion.refresh_from_db()
    assert (deletion.status, deletion.snapshot, deletion.reason) == ("done", {}, "")
    assert deletion.done_at is not None
    states = steps_of(deletion)
    assert states.pop("buckets") == "skipped"
    assert set(states.values()) == {"done"}
    assert {step.detail for step in deletion.steps.all()} == {""}
    assert is_gone(user)
    assert Order.objects.count() == 0
    lines = (backup_dir / "deletions.jsonl").read_text().splitlines()
    assert [json.loads(line)["user"] for line in lines] == [deletion.user_id]
    assert "ben" not in "".join(lines)
    kept = str(UserDeletion.objects.values().get())
    assert "ben" not in kept
    assert "Kiel" not in kept


def test_the_user_is_locked_out_first_and_sessions_and_links_go(work, user, settings, billing):
    billing.answer = (503, "")
    client = Client()
    client.force_login(user)
    stranger = Client()
    stranger.force_login(UserFactory())
    SessionStore().create()
    before = user.password
    deletion = deletions.request(user, requested_by=user)

    work()

    user.refresh_from_db()
    assert not user.is_active
    assert not user.has_usable_password()
    assert user.password != before
    assert steps_of(deletion)["account"] == steps_of(deletion)["sessions"] == "done"
    assert Session.objects.count() == 2
    assert stranger.session.get("_auth_user_id")


@pytest.mark.usefixtures("retry_now")
def test_billing_down_for_good_is_abandoned_after_the_cap_and_requeued_when_mended(
    user, work, billing, caplog
):
    billing.answer = (503, "down for good")
    Order.objects.create(user=user)
    deletion = deletions.request(user, requested_by=user)

    exhaust(work, deletion)

    deletion.refresh_from_db()
    assert (deletion.status, deletion.attempts) == ("abandoned", 5)
    assert len(billing.received) == 5
    assert len({each.headers["idempotency-key"] for each in billing.received}) == 1
    assert all(each.is_signed for each in billing.received)
    states = steps_of(deletion)
    assert (states["account"], states["billing"], states["rows"]) == ("done", "failed", "todo")
    assert Order.objects.count() == 1
    lines = [r for r in caplog.records if r.message.startswith("deletion_abandoned")]
    assert len(lines) == 1
    assert lines[0].levelno == logging.ERROR
    assert f"id={deletion.pk} user={user.pk} attempts=5" in lines[0].message
    assert not [r for r in caplog.records if r.message.startswith("dead_letter")]

    billing.answer = None
    tries = step_of(deletion, "account").tries
    requeue([deletion.pk], actor=None, via=Via.COMMAND)
    work()

    deletion.refresh_from_db()
    assert (deletion.status, deletion.requeues, deletion.attempts) == ("done", 1, 1)
    assert step_of(deletion, "account").tries == tries == 1
    assert len(billing.successes) == 1
    assert len(billing.received) == 6
    assert is_gone(user)


def test_an_abandoned_deletion_opens_the_alert_and_its_end_closes_it(user, work, billing, settings):
    settings.USER_DELETION_MAX_ATTEMPTS = 1
    billing.answer = (500, "")
    deletion = deletions.request(user, requested_by=user)
    work()

    evaluate()

    alert = Alert.objects.get(rule="dead_letter_depth", subject="user_deletions")
    assert alert.resolved_at is None
    billing.answer = None
    requeue([deletion.pk], actor=None, via=Via.COMMAND)
    work()
    evaluate()
    alert.refresh_from_db()
    assert alert.resolved_at is not None


def test_mail_to_the_user_is_cancelled_and_erased(user, work, queue_backend):
    by_id = emails.enqueue(message("other@example.com"), user_id=user.pk)
    by_address = emails.enqueue(message("Ben <BEN@example.com>"))
    other = emails.enqueue(message("otto@example.com"))
    deletions.request(user, requested_by=user)

    work()

    mails = {mail.pk: mail for mail in EmailJob.objects.all()}
    assert mails[by_id.pk].status == mails[by_address.pk].status == "cancelled"
    assert mails[by_id.pk].subject == mails[by_address.pk].subject == ""
    assert mails[other.pk].status == "pending"


def test_a_shutdown_gives_the_attempt_back(user, work, settings):
    deletion = deletions.request(user, requested_by=user)
    stop = StopSignal()
    settings.USER_DELETION_STEPS = (*SHIPPED, f"{SHOP}.NewsletterList")
    original = steps.NewsletterList.run

    def run_and_stop(self, call):
        original(self, call)
        stop.set(grace_ms=20_000)

    steps.NewsletterList.run = run_and_stop
    try:
        work(stop=stop)
    finally:
        steps.NewsletterList.run = original

    deletion.refresh_from_db()
    assert (deletion.status, deletion.attempts, deletion.interruptions) == ("pending", 0, 1)
    assert steps_of(deletion)["newsletter"] == "done"
    assert steps_of(deletion)["rows"] == "todo"
    work()
    deletion.refresh_from_db()
    assert deletion.status == "done"


def test_a_proof_that_cannot_be_written_keeps_the_deletion_open(
    user, work, settings, tmp_path, billing
):
    (tmp_path / "file").write_text("")
    settings.BACKUP_DIR = str(tmp_path / "file" / "backups")
    deletion = deletions.request(user, requested_by=user)

    work()

    deletion.refresh_from_db()
    assert deletion.status == "failed"
    assert "could not be written" in deletion.last_error
    states = steps_of(deletion)
    assert states.pop("buckets") == "skipped"
    assert set(states.values()) == {"done"}


def test_the_policy_follows_the_settings(settings):
    settings.USER_DELETION_MAX_ATTEMPTS = 7

    assert deletion_policy().max_attempts == 7


def test_no_operator_acted_so_the_audit_is_empty(user, work):
    deletions.request(user, requested_by=user)

    work()

    assert not AuditLog.objects.exists()
