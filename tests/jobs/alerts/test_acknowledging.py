"""Alerts that somebody sees to, and the list of all."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db import transaction
from django.utils import timezone

from jobs.alerts.acknowledge import acknowledge
from jobs.alerts.errors import PastAcknowledgementError, ResolvedAlertError, UnknownAlertError
from jobs.alerts.evaluate import evaluate
from jobs.models import Alert, AuditLog
from jobs.reads.alerts import get_alert, list_alerts
from tests.jobs.alerting import ago, on_time, scheduled_run


def test_acknowledging_writes_who_why_until_when_and_one_row_of_the_audit(
    orders, django_user_model
) -> None:
    anna = django_user_model.objects.create_user("anna")
    on_time(next_due_at=ago(hours=2))
    (alert_id,) = evaluate().opened
    until = timezone.now() + dt.timedelta(hours=1)

    first = acknowledge(alert_id, actor=anna, note="on it", until=until)
    again = acknowledge(alert_id, actor=anna, note="on it", until=until)

    assert (first, again) == (True, False)
    item = get_alert(alert_id)
    assert item is not None
    assert (item.acknowledged_by, item.note, item.is_acknowledged) == ("anna", "on it", True)
    audit = AuditLog.objects.get()
    assert (audit.actor, audit.verb, audit.target) == ("anna", "acknowledge", f"alerts {alert_id}")


def test_an_acknowledgement_and_its_audit_are_rolled_back_together(orders) -> None:
    on_time(next_due_at=ago(hours=2))
    (alert_id,) = evaluate().opened

    with transaction.atomic():
        acknowledge(alert_id, actor=None, note="on it", until=None)
        transaction.set_rollback(True)

    assert Alert.objects.get().acknowledged_at is None
    assert not AuditLog.objects.exists()


def test_a_resolved_or_unknown_alert_cannot_be_acknowledged_nor_one_until_the_past(orders) -> None:
    on_time(next_due_at=ago(hours=2))
    (alert_id,) = evaluate().opened

    with pytest.raises(PastAcknowledgementError):
        acknowledge(alert_id, actor=None, note="", until=ago(minutes=1))
    with pytest.raises(UnknownAlertError):
        acknowledge(alert_id + 1, actor=None, note="")
    Alert.objects.update(resolved_at=timezone.now())
    with pytest.raises(ResolvedAlertError):
        acknowledge(alert_id, actor=None, note="")


def test_alerts_are_listed_newest_first_by_state_and_rule(orders) -> None:
    on_time(next_due_at=ago(hours=2))
    for _ in range(3):
        scheduled_run("failed")
    evaluate()
    Alert.objects.filter(rule="missed_window").update(resolved_at=timezone.now())

    (still_open,) = list_alerts().items
    (resolved,) = list_alerts(state="resolved").items

    assert (still_open.rule, still_open.state) == ("consecutive_failures", "open")
    assert len(still_open.evidence_run_ids) == 3
    assert still_open.closes_when == "One scheduled run succeeds."
    assert (resolved.rule, resolved.state) == ("missed_window", "resolved")
    assert len(list_alerts(state="").items) == 2
    assert list_alerts(state="", rule="stalled").items == ()
