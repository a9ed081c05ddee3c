"""Whatever happens to a job, its alerts open and resolve one at a time."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db import transaction
from django.db.models import Count
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs import pausing
from jobs.alerts.evaluate import evaluate
from jobs.declarations import registry
from jobs.models import Alert, JobState
from tests.forms import form
from tests.jobs.alerting import ORDERS, ago, declared, on_time, only_declared, scheduled_run, worker

STEPS = st.lists(
    st.sampled_from(
        ["failed", "lost", "succeeded", "manual", "late", "in time", "pause", "resume"]
    ),
    max_size=12,
)


def take(step: str) -> None:
    match step:
        case "failed" | "lost" | "succeeded":
            scheduled_run(step)
        case "manual":
            scheduled_run("succeeded", trigger="manual")
        case "late":
            JobState.objects.update(next_due_at=ago(hours=2))
        case "in time":
            JobState.objects.update(next_due_at=timezone.now() + dt.timedelta(minutes=30))
        case "pause":
            pausing.pause(ORDERS, actor="anna", reason="")
        case "resume":
            pausing.resume(registry.get(ORDERS))


@pytest.mark.django_db
@settings(
    max_examples=form(short=12, full=60),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS)
def test_no_rule_has_two_open_alerts_and_a_second_look_changes_nothing(steps) -> None:
    with transaction.atomic(), only_declared(), declared():
        worker()
        on_time()
        for step in steps:
            take(step)
            evaluate()

            again = evaluate()

            assert (again.opened, again.resolved) == ((), ())
            open_ones = Alert.objects.filter(resolved_at=None).values("rule", "subject")
            assert all(row["n"] == 1 for row in open_ones.annotate(n=Count("id")))
            assert again.still_open == Alert.objects.filter(resolved_at=None).count()
            if JobState.objects.filter(paused_at__isnull=False).exists():
                assert again.still_open == 0
        transaction.set_rollback(True)
