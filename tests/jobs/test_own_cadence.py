"""A cadence that is data: the default, what an operator sets, and what is refused."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db import IntegrityError, transaction

from jobs.cadence import CadenceError, Cron
from jobs.checks import check_cadence
from jobs.declarations import registry
from jobs.models import AuditLog, JobState
from jobs.models.audit import Via
from jobs.own_cadence import own_cadence
from jobs.reads.inventory import get_job
from jobs.schedule import anchor, database_now, fire
from jobs.verbs import FixedCadenceError, schedule_job
from tests.factories import UserFactory, give

pytestmark = pytest.mark.django_db
JOB = "retention.sweep"
PAGE = f"/admin/jobs/jobstate/{JOB}/verb/schedule/"


def set_to(cadence: Cron | None, job_id: str = JOB):
    return schedule_job(
        job_id, cadence=cadence, actor=UserFactory(), via=Via.COMMAND, reason="quieter then"
    )


def test_until_somebody_changes_it_a_job_keeps_its_default() -> None:
    cadence = registry.get(JOB).cadence

    assert cadence == Cron("0 3 * * *")
    assert registry.get(JOB).cadence_is_data


def test_a_default_that_no_schedule_can_keep_is_refused_where_it_is_written() -> None:
    with pytest.raises(CadenceError, match="0 0 31 2"):
        own_cadence("shop.orders", "0 0 31 2 *")


def test_what_is_set_counts_from_now_on_and_is_audited() -> None:
    anchor(registry.get(JOB))

    answer = set_to(Cron("30 4 * * sun", zone="Europe/Berlin"))

    assert (answer.changed, answer.expression, answer.zone) == (
        True, "30 4 * * sun", "Europe/Berlin",
    )  # fmt: skip
    assert registry.get(JOB).cadence == Cron("30 4 * * sun", zone="Europe/Berlin")
    state = JobState.objects.get(pk=JOB)
    assert state.next_due_at == registry.get(JOB).cadence.next_after(state.accounted_until)
    entry = AuditLog.objects.get()
    assert (entry.verb, entry.target, entry.reason) == (
        "schedule", f"job_states {JOB}", "quieter then",
    )  # fmt: skip
    assert entry.detail == {"from": "0 3 * * * UTC", "to": "30 4 * * sun Europe/Berlin"}


def test_a_change_runs_no_slot_of_the_past() -> None:
    anchor(registry.get(JOB))
    long_ago = database_now() - dt.timedelta(days=3)
    JobState.objects.filter(pk=JOB).update(accounted_until=long_ago, next_due_at=long_ago)

    set_to(Cron("* * * * *"))

    assert fire(registry.get(JOB)) is None
    assert JobState.objects.get(pk=JOB).next_due_at > database_now()


def test_a_worker_that_is_running_keeps_to_what_is_set_at_its_next_slot() -> None:
    declaration = registry.get(JOB)  # as a worker holds it since its start
    anchor(declaration)
    set_to(Cron("* * * * *"))
    now = database_now()
    JobState.objects.filter(pk=JOB).update(
        accounted_until=now - dt.timedelta(minutes=2), next_due_at=now - dt.timedelta(minutes=1)
    )

    run = fire(declaration)

    assert run is not None


def test_setting_what_is_set_already_changes_nothing() -> None:
    set_to(Cron("0 5 * * *"))

    again = set_to(Cron("0 5 * * *"))

    assert not again.changed
    assert AuditLog.objects.count() == 1


@pytest.mark.parametrize("back", [None, Cron("0 3 * * *")])
def test_going_back_to_the_default_leaves_nothing_set(back) -> None:
    set_to(Cron("0 5 * * *"))

    answer = set_to(back)

    assert answer.changed
    assert JobState.objects.get(pk=JOB).own_cron == ""
    assert registry.get(JOB).cadence == Cron("0 3 * * *")


def test_a_cadence_in_code_is_not_set_here() -> None:
    with pytest.raises(FixedCadenceError, match=r"jobs\.alerts"):
        set_to(Cron("0 5 * * *"), "jobs.alerts")


def test_the_page_of_the_job_shows_what_is_set_as_data() -> None:
    set_to(Cron("0 5 * * *", zone="Europe/Berlin"))

    job = get_job(JOB)

    assert job is not None
    assert (job.cadence.expression, job.cadence.timezone, job.cadence.source) == (
        "0 5 * * *", "Europe/Berlin", "data",
    )  # fmt: skip


def test_what_no_schedule_can_keep_is_said_and_can_be_mended() -> None:
    JobState.objects.create(job_id=JOB, own_cron="0 0 31 2 *", own_zone="UTC")

    job = get_job(JOB)
    assert job is not None
    assert job.cadence.kind == "unreadable"
    assert list(check_cadence(registry.get(JOB))) == []  # asks no database

    assert set_to(None).changed
    assert AuditLog.objects.get().detail["from"] == "0 0 31 2 * UTC"


def test_half_a_cadence_is_refused_by_the_database() -> None:
    with pytest.raises(IntegrityError, match="job_states_own_cadence_whole"), transaction.atomic():
        JobState.objects.create(job_id=JOB, own_cron="0 3 * * *")


@pytest.fixture
def scheduler(client):
    user = UserFactory(is_staff=True)
    give(user, "jobs.view_jobstate", "jobs.schedule_job")
    client.force_login(user)
    return user


def test_the_admin_changes_it(client, scheduler) -> None:
    shown = client.get(PAGE).content.decode()
    given = {"expression": "15 2 * * *", "zone": "Europe/Berlin", "reason": "backups at three"}

    answer = client.post(PAGE, given, follow=True)

    assert 'value="0 3 * * *"' in shown
    assert "runs at 15 2 * * * Europe/Berlin from now on" in answer.content.decode()
    assert registry.get(JOB).cadence == Cron("15 2 * * *", zone="Europe/Berlin")
    assert AuditLog.objects.get().via == "admin"


@pytest.mark.parametrize(
    ("expression", "zone", "words"),
    [
        ("0 0 31 2 *", "", "The cron expression"),
        ("0 0 * * * *", "", "The cron expression"),
        ("every night", "", "The cron expression"),
        ("0 3 * * *", "Europe/Bertin", "The time zone"),
        ("", "Europe/Berlin", "Write when it runs"),
    ],
)
def test_the_admin_refuses_what_no_schedule_can_keep(
    client, scheduler, expression, zone, words
) -> None:
    answer = client.post(PAGE, {"expression": expression, "zone": zone, "reason": "why"})

    assert answer.status_code == 200
    assert words in answer.content.decode()
    assert registry.get(JOB).cadence == Cron("0 3 * * *")
    assert not AuditLog.objects.exists()


def test_empty_fields_are_the_default_again(client, scheduler) -> None:
    set_to(Cron("0 5 * * *"))

    client.post(PAGE, {"expression": "", "zone": "", "reason": "as before"})

    assert registry.get(JOB).cadence == Cron("0 3 * * *")


def test_without_the_permission_there_is_no_button_and_a_post_is_refused(client) -> None:
    user = UserFactory(is_staff=True)
    give(user, "jobs.view_jobstate", "jobs.run_job", "jobs.pause_job")
    client.force_login(user)

    assert (
        "Change schedule" not in client.get(f"/admin/jobs/jobstate/{JOB}/change/").content.decode()
    )
    assert client.post(PAGE, {"expression": "", "reason": "why"}).status_code == 403


def test_a_job_whose_cadence_is_code_has_no_such_page(client, scheduler) -> None:
    page = PAGE.replace(JOB, "jobs.alerts")

    assert "Nothing is left to do" in client.get(page).content.decode()
    assert client.post(page, {"reason": "why"}).status_code == 409
