"""``manage.py check_jobs``: the watch that depends on no worker."""

from __future__ import annotations

import datetime as dt
import io
import json

import pytest
from django.core.management import call_command
from django.db.models import Q
from django.utils import timezone

from jobs.alerts import judging
from jobs.alerts.checking import check
from jobs.alerts.evaluate import evaluate
from jobs.cadence import Every
from jobs.claims import ClaimPolicy, Counts, StaleAfter
from jobs.models import Alert, JobState
from jobs.models.alert import AlertRule
from tests.jobs.alerting import (
    ORDERS,
    ago,
    declared,
    on_time,
    only_declared,
    scheduled_run,
    worker,
)
from tests.testapp.models import Parcel

EVERY = Every(seconds=30)
pytestmark = pytest.mark.django_db


def check_jobs(*arguments: str) -> tuple[int, str]:
    out = io.StringIO()
    code = 0
    try:
        call_command("check_jobs", *arguments, stdout=out)
    except SystemExit as end:
        code = int(end.code or 0)
    return code, out.getvalue()


def test_nothing_and_exit_0_when_all_is_well() -> None:
    worker()
    with only_declared(), declared():
        on_time()

        assert check_jobs() == (0, "")


def test_with_all_workers_dead_it_exits_1_with_one_line_and_not_one_per_job() -> None:
    worker(heartbeat=ago(minutes=5))
    with only_declared(), declared(), declared("shop.stock"):
        on_time(next_due_at=ago(hours=2))
        on_time("shop.stock", next_due_at=ago(hours=2))

        code, text = check_jobs()

    assert code == 1
    (line,) = text.splitlines()
    assert line.startswith("no_worker ")
    assert "last heartbeat" in line


def test_before_the_first_worker_ever_it_says_how_to_start_one() -> None:
    with only_declared(), declared():
        code, text = check_jobs()

    assert code == 1
    assert text.startswith("no_worker ")
    assert "manage.py runworkers" in text


def test_a_line_per_problem_begins_with_the_rules_name() -> None:
    worker()
    with only_declared(), declared():
        on_time(next_due_at=ago(hours=2))
        for _ in range(3):
            scheduled_run("failed")

        code, text = check_jobs()

    assert code == 1
    assert [line.split()[:2] for line in text.splitlines()] == [
        ["consecutive_failures", ORDERS],
        ["missed_window", ORDERS],
    ]


def test_it_writes_nothing() -> None:
    with only_declared(), declared():
        on_time(next_due_at=ago(hours=2))

        check_jobs()

    assert not Alert.objects.exists()


def test_json_is_one_object_with_the_alert_that_is_open_about_a_problem() -> None:
    worker()
    with only_declared(), declared():
        on_time(next_due_at=ago(hours=2))
        (alert_id,) = evaluate().opened

        code, text = check_jobs("--json")

    answer = json.loads(text)
    assert code == 1
    assert (answer["ok"], answer["next_before_id"]) == (False, None)
    (item,) = answer["items"]
    assert (item["id"], item["rule"], item["subject"]) == (alert_id, "missed_window", ORDERS)
    assert item["since"].endswith("Z")


def test_json_says_that_all_is_well() -> None:
    worker()
    with only_declared(), declared():
        on_time()
        code, text = check_jobs("--json")

    assert code == 0
    assert json.loads(text)["ok"] is True
    assert json.loads(text)["items"] == []


def test_a_rule_that_cannot_be_evaluated_is_a_problem_of_its_own(monkeypatch) -> None:
    monkeypatch.setitem(judging.RULES, AlertRule.STALLED, lambda snapshot: 1 / 0)
    worker()
    with only_declared(), declared():
        on_time(next_due_at=ago(hours=2))

        code, text = check_jobs()

    assert code == 1
    assert [line.split()[:2] for line in text.splitlines()] == [
        ["missed_window", ORDERS],
        ["alert_rule_failed", "stalled"],
    ]


def test_living_workers_with_different_claim_windows_are_a_problem() -> None:
    worker(name="web-1:1:aa", claim_stale_ms=300_000)
    worker(name="web-2:1:bb", claim_stale_ms=60_000)
    with only_declared():
        different = check_jobs()
        # One that is dead, or has ended, takes nothing from anybody.
        worker(name="web-3:1:cc", claim_stale_ms=1000, heartbeat=ago(minutes=5))
        worker(name="web-4:1:dd", claim_stale_ms=2000, stopped_at=timezone.now())
        still = check_jobs()

    assert different == still
    assert different[0] == 1
    assert different[1].startswith("claim_windows_differ ")
    assert "60000 ms, 300000 ms" in different[1]


def test_kinds_that_this_version_does_not_know_are_reported_after_fifteen_minutes() -> None:
    def policy() -> ClaimPolicy:
        return ClaimPolicy(
            model=Parcel,
            counts=Counts.ON_CLAIM,
            expiry=StaleAfter(ms=300_000),
            only=Q(instruction="deliver"),
        )

    def parcel(instruction: str, *, minutes: int, **fields) -> None:
        row = Parcel.objects.create(address="Elm Street 1", instruction=instruction, **fields)
        Parcel.objects.filter(pk=row.pk).update(created_at=ago(minutes=minutes))

    worker()
    JobState.objects.create(job_id="shop.parcels", last_tick_at=timezone.now())
    with only_declared(), declared("shop.parcels", singleton=False, policy=policy, cadence=EVERY):
        parcel("deliver", minutes=60)
        parcel("by drone", minutes=14)
        parcel("by drone", minutes=60, next_retry_at=timezone.now() + dt.timedelta(minutes=5))
        too_early = check_jobs()
        parcel("by drone", minutes=16)
        parcel("by drone", minutes=60, next_retry_at=ago(minutes=16))
        code, text = check_jobs()

    assert too_early == (0, "")
    assert code == 1
    assert text.split()[:3] == ["unknown_kind", "testapp_parcels", "2"]


def test_its_time_is_bounded_and_what_was_not_looked_at_is_said() -> None:
    worker()
    with only_declared(), declared():
        answer = check(seconds=-1)

    assert not answer.ok
    assert {item.rule for item in answer.items} == {"alert_rule_failed"}
