"""Writing the audit."""

from __future__ import annotations

import pytest
from django.db import transaction

from jobs.audit import record
from jobs.models import AuditLog
from jobs.models.audit import Via
from tests.factories import UserFactory


@pytest.mark.django_db
def test_an_action_is_recorded_with_its_actor_as_text():
    anna = UserFactory(username="anna")

    record(
        actor=anna,
        via=Via.ADMIN,
        verb="retry",
        target="email_jobs 17",
        reason="the server is back",
        detail={"count": 1},
    )

    entry = AuditLog.objects.get()
    assert (entry.actor, entry.actor_id) == ("anna", str(anna.pk))
    assert (entry.via, entry.verb, entry.target) == ("admin", "retry", "email_jobs 17")
    assert (entry.reason, entry.detail) == ("the server is back", {"count": 1})
    assert entry.at is not None


@pytest.mark.django_db
def test_erasing_an_operator_keeps_the_audit():
    anna = UserFactory(username="anna")
    record(actor=anna, via=Via.ADMIN, verb="retry", target="email_jobs 17")

    anna.delete()

    assert AuditLog.objects.get().actor == "anna"


@pytest.mark.django_db
def test_a_command_without_a_user_is_recorded_as_the_system():
    record(actor=None, via=Via.COMMAND, verb="retry", target="email_jobs")

    assert (AuditLog.objects.get().actor, AuditLog.objects.get().actor_id) == ("system", "")


@pytest.mark.django_db
def test_secrets_in_a_reason_are_masked_before_they_are_stored():
    reason = "moved to smtp://shop:hunter2@mail.example.org\x00"

    record(actor=None, via=Via.COMMAND, verb="retry", target="email_jobs", reason=reason)

    assert "hunter2" not in AuditLog.objects.get().reason


@pytest.mark.django_db(transaction=True)
def test_an_action_that_is_rolled_back_leaves_no_audit():
    with transaction.atomic():
        record(actor=None, via=Via.COMMAND, verb="retry", target="email_jobs")
        transaction.set_rollback(True)

    assert not AuditLog.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_audit_outside_the_transaction_of_its_action_is_refused():
    with pytest.raises(transaction.TransactionManagementError, match="retry email_jobs"):
        record(actor=None, via=Via.COMMAND, verb="retry", target="email_jobs")

    assert not AuditLog.objects.exists()
