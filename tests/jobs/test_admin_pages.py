"""The engine's pages in the admin: what they show, and to whom."""

from __future__ import annotations

import datetime as dt
from urllib.parse import urlsplit

import psycopg
import pytest
from django.contrib import admin
from django.contrib.admin.options import ShowFacets
from django.db import connection
from django.test import Client
from django.utils import timezone

from jobs.admin.base import BigTableAdmin
from jobs.admin.filters import (
    ConditionFilter,
    JobFilter,
    RunFilter,
    SameErrorFilter,
    SinceFilter,
)
from jobs.clock import ago
from jobs.models import ActivityLog, JobRun, JobState, Worker
from jobs.reads.activity import list_activity
from jobs.reads.bounded import bounded
from jobs.reads.errors import SlowReadError
from jobs.reads.links import object_path
from jobs.reads.runs import get_run, list_runs
from jobs.reads.workers import count_alive, list_workers
from tests.factories import (
    ActivityLogFactory,
    AuditLogFactory,
    JobRunFactory,
    UserFactory,
    WorkerFactory,
    give,
)

RUNS = "/admin/jobs/jobrun/"
ACTIVITY = "/admin/jobs/activitylog/"
WORKERS = "/admin/jobs/worker/"
AUDIT = "/admin/jobs/auditlog/"


@pytest.fixture
def anna(db) -> Client:
    """A superuser's browser."""
    client = Client()
    client.force_login(UserFactory(is_superuser=True))
    return client


@pytest.fixture
def observer(db) -> Client:
    """The browser of somebody who may see runs, and nothing else."""
    user = UserFactory()
    give(user, "jobs.view_jobrun")
    client = Client()
    client.force_login(user)
    return client


def text_of(response) -> str:
    assert response.status_code == 200
    return response.content.decode()


def shown_ids(response) -> list[int]:
    return [row.pk for row in response.context["cl"].result_list]


def page_of(run: JobRun) -> str:
    return f"{RUNS}{run.pk}/change/"


@pytest.mark.parametrize("path", [RUNS, ACTIVITY, WORKERS, AUDIT])
def test_nothing_can_be_added_changed_or_deleted(anna, path):
    row = {
        RUNS: JobRunFactory,
        ACTIVITY: ActivityLogFactory,
        WORKERS: WorkerFactory,
        AUDIT: AuditLogFactory,
    }[path]()

    assert anna.get(f"{path}add/").status_code == 403
    assert anna.post(f"{path}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert anna.post(f"{path}{row.pk}/change/", {"job_id": "x"}).status_code == 403
    assert type(row).objects.filter(pk=row.pk).exists()


@pytest.mark.parametrize("path", [RUNS, ACTIVITY, WORKERS, AUDIT])
def test_pages_are_closed_to_staff_without_the_permission(db, path):
    client = Client()
    client.force_login(UserFactory())

    assert client.get(path).status_code == 403


def test_a_list_without_rows_says_what_to_do(anna):
    said = "No worker is running. Start one: manage.py runworkers"

    assert said in text_of(anna.get(WORKERS))


def test_runs_are_listed_newest_first_with_state_took_and_error(anna):
    first, second = JobRunFactory(), JobRunFactory(failed=True)

    response = anna.get(RUNS)

    assert shown_ids(response) == [second.pk, first.pk]
    text = text_of(response)
    assert "succeeded" in text
    assert "0.4 s" in text
    assert "ValueError: no such mail" in text
    assert "shop/jobs.py" not in text
    assert f'href="{object_path(JobState, "emails.processor")}"' in text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status=failed", ["failed"]),
        ("status=unwell", ["lost", "failed"]),
        ("trigger=manual", ["manual"]),
        ("job=retention.sweep", ["other job"]),
        ("since=1h", ["lost", "other job", "manual", "failed", "ok"]),
        ("since=all", ["lost", "other job", "manual", "failed", "ok", "old"]),
        ("q=job:retention.sweep", ["other job"]),
        ("status=failed&trigger=manual", []),
    ],
)
def test_filters_and_searches_show_exactly_the_rows_they_name(anna, query, expected):
    names = {
        JobRunFactory().pk: "old",
        JobRunFactory().pk: "ok",
        JobRunFactory(failed=True).pk: "failed",
        JobRunFactory(trigger="manual").pk: "manual",
        JobRunFactory(job_id="retention.sweep").pk: "other job",
        JobRunFactory(status="lost").pk: "lost",
    }
    JobRun.objects.filter(pk=min(names)).update(created_at=ago(2 * 3_600_000))

    response = anna.get(f"{RUNS}?{query}")

    assert [names[key] for key in shown_ids(response)] == expected


def test_a_number_finds_its_run(anna):
    run, _ = JobRunFactory(), JobRunFactory()

    assert shown_ids(anna.get(f"{RUNS}?q={run.pk}")) == [run.pk]
    assert shown_ids(anna.get(f"{RUNS}?q=999999999999999999")) == []


@pytest.mark.parametrize("term", ["sweep", "error:x", "job:", "9" * 30, "%", "stdout:secret"])
def test_a_term_that_is_no_exact_match_gets_the_help_line_and_no_rows(anna, term):
    JobRunFactory()

    response = anna.get(RUNS, {"q": term})

    assert shown_ids(response) == []
    assert "cannot be searched for. Exact matches only: the id of a run, job:…" in text_of(response)


@pytest.mark.parametrize(
    "query",
    ["status=bogus", "since=3y", "before=x", "after=-1", "stdout__contains=a", "colour=red"],
)
def test_parameters_that_mean_nothing_lead_back_to_the_list(anna, query):
    response = anna.get(f"{RUNS}?{query}")

    assert (response.status_code, response.headers["Location"]) == (302, f"{RUNS}?e=1")


def test_older_and_newer_pages_go_by_key(anna, monkeypatch):
    monkeypatch.setattr("jobs.admin.runs.JobRunAdmin.list_per_page", 3)
    ids = [run.pk for run in JobRunFactory.create_batch(8)][::-1]

    newest = anna.get(RUNS)
    older = anna.get(RUNS + newest.context["cl"].older_query)
    oldest = anna.get(RUNS + older.context["cl"].older_query)
    back = anna.get(RUNS + oldest.context["cl"].newer_query)

    assert [shown_ids(page) for page in (newest, older, oldest)] == [ids[:3], ids[3:6], ids[6:]]
    assert shown_ids(back) == ids[3:6]
    assert newest.context["cl"].newer_query == oldest.context["cl"].older_query == ""
    assert "8 runs" in text_of(newest)


def test_a_row_that_comes_meanwhile_moves_no_page(anna, monkeypatch):
    monkeypatch.setattr("jobs.admin.runs.JobRunAdmin.list_per_page", 2)
    ids = [run.pk for run in JobRunFactory.create_batch(4)][::-1]
    newest = anna.get(RUNS)

    JobRunFactory.create_batch(2)

    assert shown_ids(anna.get(RUNS + newest.context["cl"].older_query)) == ids[2:]


def test_a_run_shows_everything_of_its_row(anna):
    before = JobRunFactory(job_id="retention.sweep")
    run = JobRunFactory(
        job_id="retention.sweep",
        failed=True,
        trigger="manual",
        requested_by="ben",
        reason="after the outage",
        passes=37,
        output={"job_runs": {"deleted": 4000, "truncated": False}},
        stdout="deleting\n",
        returned=[1, 2],
    )
    after = JobRunFactory(job_id="retention.sweep")
    JobRunFactory()
    line = ActivityLogFactory(message="<b>slow</b> batch", run_id=run.pk, level="warning")

    text = text_of(anna.get(page_of(run)))

    for words in (
        "manual by ben", "after the outage", "37 passes", "ValueError: no such mail",
        "shop/jobs.py", "4,000", "deleting", "web-1:4121:a1b2c3", "&lt;b&gt;slow&lt;/b&gt; batch",
        f'href="{page_of(before)}"', f'href="{page_of(after)}"',
        f'href="{RUNS}?job=retention.sweep"', f"{ACTIVITY}?run={run.pk}&amp;since=all",
    ):  # fmt: skip
        assert words in text
    assert shown_ids(anna.get(f"{ACTIVITY}?run={run.pk}&since=all")) == [line.pk]


def test_output_is_shown_only_with_its_permission(observer):
    run = JobRunFactory(stdout="a customer's name", output={"sent": 12}, returned="secret")

    text = text_of(observer.get(page_of(run)))

    assert "a customer" not in text
    assert "secret" not in text
    assert "Can see the output of runs" in text


def test_output_cannot_be_guessed_through_a_parameter(observer):
    JobRunFactory(stdout="a customer's name")

    assert observer.get(f"{RUNS}?stdout__startswith=a").status_code == 302


def test_a_run_that_is_gone_is_said_to_be(anna):
    for key in ("999999", "x", "9" * 40):
        response = anna.get(f"{RUNS}{key}/change/", follow=True)

        assert response.redirect_chain == [(RUNS, 302)]
        assert f"There is no run {key}" in text_of(response)


def test_a_running_run_shows_how_long_it_takes_so_far(db):
    run = JobRunFactory(running=True, started_at=timezone.now() - dt.timedelta(seconds=90))

    detail = get_run(run.pk)

    assert detail is not None
    assert detail.seconds == pytest.approx(90, abs=30)
    assert detail.admin_url.endswith(page_of(run))
    assert detail.admin_url.startswith("http")


def test_pages_of_the_read_end_where_the_rows_end(db):
    ids = [run.pk for run in JobRunFactory.create_batch(5)][::-1]

    first = list_runs(limit=3)
    second = list_runs(limit=3, before_id=first.next_before_id)

    assert [item.id for item in (*first.items, *second.items)] == ids
    assert (first.next_before_id, second.next_before_id) == (ids[2], None)
    assert list_runs(status="failed").items == ()


def test_activity_goes_back_a_day_unless_asked(anna):
    old, new = ActivityLogFactory(), ActivityLogFactory(level="error", source="email")
    ActivityLog.objects.filter(pk=old.pk).update(at=ago(25 * 3_600_000))

    assert shown_ids(anna.get(ACTIVITY)) == [new.pk]
    assert shown_ids(anna.get(f"{ACTIVITY}?since=all")) == [new.pk, old.pk]
    assert shown_ids(anna.get(f"{ACTIVITY}?level=trouble")) == [new.pk]
    assert shown_ids(anna.get(f"{ACTIVITY}?source=job")) == []
    assert [item.id for item in list_activity(level="error").items] == [new.pk]


def test_a_line_leads_to_its_run_and_its_job(anna):
    line = ActivityLogFactory(run_id=17, job_id="emails.processor", context={"rows": 12})

    text = text_of(anna.get(f"{ACTIVITY}{line.pk}/change/"))

    assert f'href="{RUNS}17/change/"' in text
    assert f'href="{object_path(JobState, "emails.processor")}"' in text
    assert "12" in text


def test_a_worker_is_alive_within_60_s_of_its_heartbeat(anna):
    alive, silent, draining = WorkerFactory(), WorkerFactory(), WorkerFactory(draining=True)
    stopped = WorkerFactory(stopped_at=timezone.now())
    Worker.objects.filter(pk=silent.pk).update(heartbeat_at=ago(61_000))

    text = text_of(anna.get(WORKERS))

    assert {item.id: item.is_alive for item in list_workers()} == {
        alive.name: True, silent.name: False, draining.name: True, stopped.name: False,
    }  # fmt: skip
    assert count_alive() == 2
    for words in ("alive", "silent for 1 min", "draining", "stopped", "listening"):
        assert words in text


def test_a_worker_shows_its_loops_whatever_another_version_wrote(anna):
    worker = WorkerFactory(loops={"a": {"state": "idle"}, "b": 5, "c": {"ticked_at": "nonsense"}})
    [item] = list_workers()

    response = anna.get(urlsplit(item.admin_url).path)

    assert worker.name in text_of(response)
    assert [loop.job_id for loop in item.loops] == ["a", "b", "c"]


def test_the_audit_shows_who_why_and_what(anna):
    entry = AuditLogFactory(detail={"ids": [17]})

    text = text_of(anna.get(f"{AUDIT}{entry.pk}/change/"))

    assert "the server is back" in text
    assert shown_ids(anna.get(f"{AUDIT}?q=target:email_jobs 17")) == [entry.pk]


def test_no_page_has_inline_script_or_style(anna):
    run = JobRunFactory(failed=True, output={"sent": 1})

    for path in (RUNS, page_of(run), ACTIVITY, WORKERS, AUDIT):
        text = text_of(anna.get(path))

        assert "<style" not in text
        assert " style=" not in text
        assert " onclick=" not in text
        assert "<script>" not in text


def big_admins() -> list[BigTableAdmin]:
    return [each for each in admin.site._registry.values() if isinstance(each, BigTableAdmin)]


def test_big_tables_keep_to_the_recipe():
    assert len(big_admins()) >= 4
    for each in big_admins():
        assert each.show_facets is ShowFacets.NEVER
        assert each.date_hierarchy is None
        assert each.show_full_result_count is False
        assert each.ordering == ("-id",)
        allowed = (ConditionFilter, SinceFilter, JobFilter, RunFilter, SameErrorFilter)
        assert all(issubclass(kind, allowed) for kind in each.list_filter), each


@pytest.mark.django_db(transaction=True)
def test_a_read_over_its_limit_costs_the_rows_and_not_the_page():
    run = JobRunFactory()
    client = Client()
    client.force_login(UserFactory(is_superuser=True))

    with psycopg.connect(**_parameters()) as other, other.transaction():
        other.execute("LOCK TABLE job_runs IN ACCESS EXCLUSIVE MODE")
        listed = client.get(f"{RUNS}?status=failed")
        shown = client.get(page_of(run))

    assert "This filter needs more than 2 s; narrow the time range." in text_of(listed)
    assert "Clear all filters" in text_of(listed)
    assert shown.status_code == 503
    assert b"needs more than 2 s" in shown.content
    assert shown_ids(client.get(RUNS)) == [run.pk]


@pytest.mark.django_db
def test_a_limit_within_a_transaction_is_put_back():
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '45s'")
        with bounded():
            cursor.execute("SHOW statement_timeout")
            assert cursor.fetchone() == ("2s",)
        with pytest.raises(SlowReadError), bounded(milliseconds=20):
            cursor.execute("SELECT pg_sleep(5)")
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("45s",)


def _parameters() -> dict[str, object]:
    known = connection.get_connection_params()
    return {
        name: known[name]
        for name in ("host", "port", "user", "password", "dbname", "passfile")
        if name in known
    }
