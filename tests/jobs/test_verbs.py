"""Verbs: each acts once and leaves one row of the audit in the same transaction."""

from __future__ import annotations

import datetime as dt
import threading

import pytest
from django.db import connections, transaction
from django.utils import timezone

from jobs import verbs
from jobs.alerts.errors import ResolvedAlertError, UnknownAlertError
from jobs.errors import ManualRunRefusedError, UnknownJobError
from jobs.models import Alert, AuditLog, JobRun, JobState
from jobs.models.audit import Via
from jobs.output.actors import CommandLineActor
from jobs.verbs import QueuePassError, RunEndedError, UnknownRunError
from tests.factories import JobRunFactory, UserFactory
from tests.jobs.alerting import ORDERS, declared

JOB = "testapp.stocktaking"
BY = {"actor": CommandLineActor("root"), "via": Via.COMMAND}


def audit() -> list[tuple[str, str, str, str, str]]:
    rows = AuditLog.objects.order_by("id")
    return [(row.actor, row.via, row.verb, row.target, row.reason) for row in rows]


def open_alert(**fields) -> Alert:
    return Alert.objects.create(rule="missed_window", subject=JOB, **fields)


@pytest.mark.django_db
def test_a_run_by_hand_is_a_request_and_one_row_of_the_audit() -> None:
    anna = UserFactory(username="anna")

    answer = verbs.run_job(JOB, actor=anna, via=Via.ADMIN, reason="after the fix")

    run = JobRun.objects.get()
    assert (answer.run_id, answer.status, answer.coalesced) == (run.pk, "requested", False)
    assert (run.trigger, run.requested_by, run.reason) == ("manual", "anna", "after the fix")
    assert audit() == [("anna", "admin", "run", f"job_states {JOB}", "after the fix")]
    entry = AuditLog.objects.get()
    assert (entry.actor_id, entry.detail) == (str(anna.pk), {"run_id": run.pk})


@pytest.mark.django_db
def test_pressing_run_twice_makes_one_run_and_one_row_of_the_audit() -> None:
    first = verbs.run_job(JOB, **BY)
    second = verbs.run_job(JOB, **BY)

    assert (second.run_id, second.coalesced) == (first.run_id, True)
    assert JobRun.objects.count() == AuditLog.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_pressing_run_in_two_places_at_once_acts_once() -> None:
    barrier = threading.Barrier(4)
    answers = []

    def press() -> None:
        barrier.wait(10)
        answers.append(verbs.run_job(JOB, **BY))
        connections.close_all()

    threads = [threading.Thread(target=press) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert sorted(answer.coalesced for answer in answers) == [False, True, True, True]
    assert JobRun.objects.count() == AuditLog.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_an_action_that_is_rolled_back_leaves_neither_a_run_nor_an_audit() -> None:
    with transaction.atomic():
        verbs.run_job(JOB, **BY)
        verbs.pause_job(JOB, **BY)
        transaction.set_rollback(True)

    assert not JobRun.objects.exists()
    assert not JobState.objects.filter(paused_at__isnull=False).exists()
    assert not AuditLog.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_action_whose_audit_fails_does_not_happen(monkeypatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise ConnectionError("no audit today")

    monkeypatch.setattr(AuditLog.objects, "create", refuse)
    run = JobRunFactory(job_id=JOB, status="requested", started_at=None)
    alert = open_alert()

    for act in (
        lambda: verbs.run_job("testapp.parcels", **BY),
        lambda: verbs.pause_job(JOB, **BY),
        lambda: verbs.cancel_run(run.pk, **BY),
        lambda: verbs.acknowledge_alert(alert.pk, **BY),
    ):
        with pytest.raises(ConnectionError):
            act()

    assert list(JobRun.objects.values_list("job_id", "status")) == [(JOB, "requested")]
    assert not JobState.objects.filter(paused_at__isnull=False).exists()
    assert Alert.objects.get().acknowledged_at is None


@pytest.mark.django_db
def test_a_job_that_may_not_be_forced_is_refused_and_nothing_is_written() -> None:
    with declared(manual_run=False), pytest.raises(ManualRunRefusedError):
        verbs.run_job(ORDERS, **BY)

    assert not AuditLog.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("verb", [verbs.run_job, verbs.pause_job, verbs.resume_job])
def test_an_unknown_job_is_refused_with_the_nearest_id(verb) -> None:
    with pytest.raises(UnknownJobError, match=f"did you mean {JOB}"):
        verb("testapp.stoktaking", **BY)

    assert not JobState.objects.filter(pk="testapp.stoktaking").exists()


@pytest.mark.django_db
def test_pausing_and_resuming_act_once_each() -> None:
    changed = [
        verbs.pause_job(JOB, reason="the disk is full", **BY).changed,
        verbs.pause_job(JOB, reason="again", **BY).changed,
    ]
    state = JobState.objects.get(pk=JOB)
    changed += [verbs.resume_job(JOB, **BY).changed, verbs.resume_job(JOB, **BY).changed]

    assert changed == [True, False, True, False]
    assert (state.paused_by, state.pause_reason) == ("cli:root", "the disk is full")
    assert JobState.objects.get(pk=JOB).paused_at is None
    target = f"job_states {JOB}"
    assert audit() == [
        ("cli:root", "command", "pause", target, "the disk is full"),
        ("cli:root", "command", "resume", target, ""),
    ]


@pytest.mark.django_db
def test_a_request_that_waits_is_cancelled_at_once() -> None:
    run = JobRunFactory(job_id=JOB, status="requested", started_at=None)

    first = verbs.cancel_run(run.pk, reason="wrong job", **BY)
    second = verbs.cancel_run(run.pk, **BY)

    assert (first.status, first.changed) == ("cancelled", True)
    assert (second.status, second.changed) == ("cancelled", False)
    run.refresh_from_db()
    assert run.status == "cancelled"
    assert audit() == [("cli:root", "command", "cancel", f"job_runs {run.pk}", "wrong job")]
    assert AuditLog.objects.get().detail == {"job_id": JOB, "status": "requested"}


@pytest.mark.django_db
def test_a_running_singleton_is_asked_to_end_once() -> None:
    run = JobRunFactory(job_id=JOB, running=True)

    answers = [verbs.cancel_run(run.pk, **BY) for _ in range(2)]

    assert [(answer.status, answer.changed) for answer in answers] == [
        ("running", True),
        ("running", False),
    ]
    run.refresh_from_db()
    assert run.cancel_requested_at is not None
    assert AuditLog.objects.count() == 1


@pytest.mark.django_db
def test_a_pass_of_a_queue_is_not_cancelled_since_it_would_come_again() -> None:
    run = JobRunFactory(job_id="testapp.parcels", running=True)

    with pytest.raises(QueuePassError, match="pause the job"):
        verbs.cancel_run(run.pk, **BY)

    run.refresh_from_db()
    assert run.cancel_requested_at is None


@pytest.mark.django_db
def test_a_run_that_has_ended_or_never_was_cannot_be_cancelled() -> None:
    run = JobRunFactory(job_id=JOB)

    with pytest.raises(RunEndedError, match="succeeded"):
        verbs.cancel_run(run.pk, **BY)
    with pytest.raises(UnknownRunError, match="no run 999"):
        verbs.cancel_run(999, **BY)

    assert not AuditLog.objects.exists()


@pytest.mark.django_db
def test_an_alert_is_acknowledged_with_a_note_and_until_when() -> None:
    alert = open_alert()
    until = timezone.now() + dt.timedelta(hours=2)

    answers = [
        verbs.acknowledge_alert(alert.pk, reason="on it", until=until, **BY) for _ in range(2)
    ]

    alert.refresh_from_db()
    assert [answer.changed for answer in answers] == [True, False]
    assert (alert.acknowledged_by, alert.note) == ("cli:root", "on it")
    assert alert.acknowledged_until == until
    assert audit() == [("cli:root", "command", "acknowledge", f"alerts {alert.pk}", "on it")]


@pytest.mark.django_db
def test_an_alert_that_is_resolved_or_never_was_cannot_be_acknowledged() -> None:
    alert = open_alert(resolved_at=timezone.now())

    with pytest.raises(ResolvedAlertError):
        verbs.acknowledge_alert(alert.pk, **BY)
    with pytest.raises(UnknownAlertError):
        verbs.acknowledge_alert(999, **BY)


@pytest.mark.django_db
def test_secrets_in_a_reason_are_masked_wherever_it_is_kept() -> None:
    reason = "moved to smtp://shop:hunter2@mail.example.org\x00"
    alert = open_alert()

    verbs.run_job(JOB, reason=reason, **BY)
    verbs.pause_job(JOB, reason=reason, **BY)
    verbs.acknowledge_alert(alert.pk, reason=reason, **BY)

    kept = [
        JobRun.objects.get().reason,
        JobState.objects.get(pk=JOB).pause_reason,
        Alert.objects.get().note,
        *AuditLog.objects.values_list("reason", flat=True),
    ]
    assert len(kept) == 6
    assert not [text for text in kept if "hunter2" in text or "mail.example.org" not in text]


def test_each_verb_names_its_permission() -> None:
    found = {
        verb.name: verb.permission
        for verb in (
            verbs.run_job,
            verbs.pause_job,
            verbs.resume_job,
            verbs.cancel_run,
            verbs.acknowledge_alert,
        )
    }

    assert found == {
        "run": "jobs.run_job",
        "pause": "jobs.pause_job",
        "resume": "jobs.pause_job",
        "cancel": "jobs.cancel_job",
        "acknowledge": "jobs.acknowledge_alert",
    }
