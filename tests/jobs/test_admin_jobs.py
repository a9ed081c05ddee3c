"""The pages of jobs: what they show, what may be done on them, and by whom."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from jobs.alerts import statements
from jobs.cadence import Cron, Manual
from jobs.declarations import job, registry
from jobs.models import AuditLog, JobRun, JobState, Worker
from jobs.reads.inventory import get_job
from jobs.reads.links import object_path
from tests.factories import (
    AlertFactory,
    AuditLogFactory,
    JobRunFactory,
    JobStateFactory,
    UserFactory,
    WorkerFactory,
    give,
)

JOBS = "/admin/jobs/jobstate/"
BERLIN = Cron("30 2 * * *", zone="Europe/Berlin")


@pytest.fixture(autouse=True)
def _jobs(db) -> Iterator[None]:
    """Declare two jobs of a shop, one of which may not be forced."""

    @job("shop.orders", cadence=BERLIN, summary="Bill the orders.", cadence_is_data=True)
    def orders(context) -> None: ...

    @job("shop.closing", cadence=Manual(), summary="Close the year.", manual_run=False)
    def closing(context) -> None: ...

    yield
    registry.remove("shop.orders")
    registry.remove("shop.closing")


def browser(*permissions: str, **options) -> Client:
    user = UserFactory(username="anna", **options)
    give(user, *permissions)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def anna() -> Client:
    """A superuser's browser."""
    return browser(is_superuser=True)


@pytest.fixture
def operator() -> Client:
    """The browser of somebody who may see jobs and use every verb on them."""
    return browser(
        "jobs.view_jobstate", "jobs.view_jobrun", "jobs.run_job", "jobs.pause_job",
        "jobs.cancel_job",
    )  # fmt: skip


@pytest.fixture
def observer() -> Client:
    """The browser of somebody who may see jobs only."""
    return browser("jobs.view_jobstate", "jobs.view_jobrun")


def page_of(job_id: str) -> str:
    return object_path(JobState, job_id)


def verb_page(job_id: str, name: str) -> str:
    return f"{JOBS}{job_id}/verb/{name}/"


def text_of(response) -> str:
    assert response.status_code == 200
    return response.content.decode()


def shown(client: Client, query: str = "") -> list[str]:
    response = client.get(f"{JOBS}?{query}")
    assert response.status_code == 200
    return [row.pk for row in response.context["cl"].result_list]


def test_every_declared_job_and_every_id_that_only_the_database_knows_is_listed(anna):
    JobStateFactory(job_id="old.cleanup")

    ids = shown(anna)
    text = text_of(anna.get(JOBS))

    assert ids == sorted({*(declared.id for declared in registry), "old.cleanup"})
    for words in ("Bill the orders.", "never ran", "not declared", "30 2 * * *", "Europe/Berlin"):
        assert words in text


def test_without_a_worker_the_list_says_how_to_start_one(anna):
    hint = "Start one: <code>manage.py runworkers</code>"
    assert hint in text_of(anna.get(JOBS))

    WorkerFactory()
    assert hint not in text_of(anna.get(JOBS))

    Worker.objects.update(stopped_at=timezone.now())
    assert hint in text_of(anna.get(JOBS))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("package=shop", ["shop.closing", "shop.orders"]),
        ("package=shop&source=data", ["shop.orders"]),
        ("package=shop&source=code", ["shop.closing"]),
        ("package=shop&kind=queue", []),
        ("package=shop&kind=singleton", ["shop.closing", "shop.orders"]),
        ("package=shop&health=paused", ["shop.closing"]),
        ("health=not-declared", ["old.cleanup"]),
        ("package=shop&health=look", ["shop.orders"]),
        ("package=shop&health=ok", []),
        ("q=ORD", ["shop.orders"]),
        ("q=nothing", []),
    ],
)
def test_filters_and_the_search_show_exactly_the_jobs_they_name(anna, query, expected):
    JobStateFactory(job_id="old.cleanup")
    JobStateFactory(job_id="shop.closing", paused_at=timezone.now())

    assert shown(anna, query) == expected


@pytest.mark.parametrize("query", ["health=bogus", "kind=x", "source=x", "job_id=shop"])
def test_parameters_that_mean_nothing_lead_back_to_the_list(anna, query):
    assert anna.get(f"{JOBS}?{query}").headers["Location"] == f"{JOBS}?e=1"


def test_slow_history_costs_cells_and_not_the_page(anna, monkeypatch):
    JobStateFactory(job_id="shop.orders", next_due_at=timezone.now() + dt.timedelta(hours=1))
    text = statements._text
    slow = "SELECT pg_sleep(20), %(job_ids)s"
    monkeypatch.setattr(
        statements, "_text", lambda name: slow if name == "scheduled_runs" else text(name)
    )

    listed, page = text_of(anna.get(JOBS)), text_of(anna.get(page_of("shop.orders")))

    assert "history slow" in listed
    assert "Bill the orders." in listed
    assert "in 59 min" in listed
    assert "History slow: the ledger did not answer within a second." in page


def test_a_job_shows_its_facts_its_fires_its_runs_its_alerts_and_its_actions(anna):
    JobStateFactory(job_id="shop.orders")
    start = timezone.now() - dt.timedelta(hours=2)
    runs = [
        JobRunFactory(
            job_id="shop.orders",
            started_at=start,
            finished_at=start + dt.timedelta(seconds=seconds),
        )
        for seconds in range(1, 102)
    ]
    alert = AlertFactory(subject="shop.orders", rule="missed_window", detail="due, and not begun")
    AlertFactory(subject="shop.orders", resolved_at=timezone.now(), detail="of yesterday")
    AuditLogFactory(target="job_states shop.orders", verb="run", reason="a late order")

    response = anna.get(page_of("shop.orders"))
    text = text_of(response)

    for words in (
        "Bill the orders.", "tests/jobs/test_admin_jobs.py:", "In Europe/Berlin", "51 s",
        "1 min 36 s", "1 min 41 s", "due, and not begun", f'href="/admin/jobs/alert/{alert.pk}/',
        "a late order", f'href="{object_path(JobRun, runs[-1].pk)}"', "Run now…", "Pause…",
    ):  # fmt: skip
        assert words in text
    assert "of yesterday" not in text
    assert "Resume…" not in text
    assert [run["id"] for run in response.context["runs"]] == [run.pk for run in runs[:-51:-1]]
    assert len(response.context["fires"]) == 5


def test_a_daylight_saving_change_is_marked(anna, monkeypatch):
    from jobs.reads import inventory

    real = inventory.next_fires
    before = dt.datetime(2027, 3, 26, 12, tzinfo=dt.UTC)  # the change is on the 28th
    monkeypatch.setattr(inventory, "next_fires", lambda cadence, after: real(cadence, after=before))

    text = text_of(anna.get(page_of("shop.orders")))

    assert "▲ in the spring gap: runs once, right after it" in text
    assert "Sun 2027-03-28 03:00:00 +02:00" in text


def test_a_job_that_nobody_declares_keeps_its_history_and_has_no_verbs(anna):
    JobStateFactory(job_id="old.cleanup")
    run = JobRunFactory(job_id="old.cleanup")

    text = text_of(anna.get(page_of("old.cleanup")))

    assert "No installed app declares this job any more." in text
    assert object_path(JobRun, run.pk) in text
    assert "Run now…" not in text
    assert anna.get(verb_page("old.cleanup", "pause")).status_code == 404


def test_an_id_that_nobody_knows_leads_back_to_the_list(anna):
    response = anna.get(page_of("shop.nothing"), follow=True)

    assert response.redirect_chain == [(JOBS, 302)]
    assert "There is no job shop.nothing" in text_of(response)


def test_run_now_makes_one_run_one_audit_row_and_one_entry_however_often_it_is_pressed(operator):
    page = verb_page("shop.orders", "run")
    assert "A worker runs shop.orders once" in text_of(operator.get(page))

    first = operator.post(page, {"reason": "a late order, password=hunter2"}, follow=True)
    second = operator.post(page, {"reason": "a late order"}, follow=True)

    run = JobRun.objects.get()
    assert (run.job_id, run.trigger, run.status) == ("shop.orders", "manual", "requested")
    assert run.requested_by == "anna"
    audit = AuditLog.objects.get()
    assert (audit.actor, audit.verb, audit.via) == ("anna", "run", "admin")
    assert (audit.target, audit.detail) == ("job_states shop.orders", {"run_id": run.pk})
    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.object_repr) == ("shop.orders", "job shop.orders")
    assert entry.change_message.startswith(f"run {run.pk}: a late order")
    assert "hunter2" not in entry.change_message + audit.reason + run.reason
    assert first.redirect_chain == second.redirect_chain == [(object_path(JobRun, run.pk), 302)]
    assert f"Run {run.pk} of shop.orders waits for a worker." in text_of(first)
    assert "was asked for already" in text_of(second)


def test_pausing_and_resuming_act_once_each(operator):
    for name in ("pause", "pause", "resume", "resume"):
        response = operator.post(verb_page("shop.orders", name), {"reason": "why"}, follow=True)
        assert response.redirect_chain == [(page_of("shop.orders"), 302)]

    assert list(AuditLog.objects.order_by("pk").values_list("verb", flat=True)) == [
        "pause",
        "resume",
    ]
    assert list(LogEntry.objects.order_by("pk").values_list("change_message", flat=True)) == [
        "paused: why",
        "resumed: why",
    ]
    item = get_job("shop.orders")
    assert item is not None
    assert not item.paused


def test_a_verb_asks_a_reason(operator):
    response = operator.post(verb_page("shop.orders", "pause"), {"reason": "  "})

    assert "Say why: the audit keeps it." in text_of(response)
    assert not AuditLog.objects.exists()
    assert not JobState.objects.filter(paused_at__isnull=False).exists()


def test_a_failure_to_write_the_history_undoes_the_verb(operator, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("no history")

    monkeypatch.setattr("jobs.admin.job_verbs.log_entries", fail)

    with pytest.raises(RuntimeError, match="no history"):
        operator.post(verb_page("shop.orders", "run"), {"reason": "why"})

    assert not JobRun.objects.exists()
    assert not AuditLog.objects.exists()


@pytest.mark.parametrize("name", ["run", "pause", "resume"])
def test_without_its_permission_a_verb_is_neither_shown_nor_done(observer, name):
    JobStateFactory(job_id="shop.orders", paused_at=timezone.now() if name == "resume" else None)

    text = text_of(observer.get(page_of("shop.orders")))

    for button in ("Run now…", "Pause…", "Resume…"):
        assert button not in text
    assert observer.get(verb_page("shop.orders", name)).status_code == 403
    assert observer.post(verb_page("shop.orders", name), {"reason": "x"}).status_code == 403
    assert not AuditLog.objects.exists()
    assert not JobRun.objects.exists()


def test_a_verb_without_the_right_to_see_jobs_is_refused():
    client = browser("jobs.run_job")

    assert client.post(verb_page("shop.orders", "run"), {"reason": "x"}).status_code == 403


def test_a_job_that_may_not_be_forced_has_no_such_button(operator):
    assert "Run now…" not in text_of(operator.get(page_of("shop.closing")))
    assert "Nothing is left to do" in text_of(operator.get(verb_page("shop.closing", "run")))
    assert operator.post(verb_page("shop.closing", "run"), {"reason": "x"}).status_code == 409
    assert not JobRun.objects.exists()


def test_there_are_no_other_verbs(anna):
    assert anna.get(verb_page("shop.orders", "erase")).status_code == 404


@pytest.mark.parametrize("address", ["/admin/jobs/{}/run", "/admin/jobs/jobstate/{}/run"])
def test_a_script_forces_a_run_by_post(operator, address):
    path = address.format("shop.orders")

    first = operator.post(path, {"reason": "by a script"})
    second = operator.post(path)

    run = JobRun.objects.get()
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json() == {"run_id": run.pk, "status": "requested", "coalesced": False}
    assert second.json() == {"run_id": run.pk, "status": "requested", "coalesced": True}
    assert first.headers["Location"] == object_path(JobRun, run.pk)
    assert run.reason == "by a script"
    assert AuditLog.objects.count() == LogEntry.objects.count() == 1


def test_a_script_may_give_its_reason_as_json_or_none(operator):
    path = "/admin/jobs/shop.orders/run"
    sent = operator.post(path, {"reason": "as JSON"}, content_type="application/json")

    assert sent.status_code == 202
    assert JobRun.objects.get().reason == "as JSON"
    for body in ("{", "[1]", '{"reason": 5}', '{"reason": "' + "x" * 2001 + '"}'):
        answer = operator.post(path, body, content_type="application/json")
        assert answer.status_code == 400
        assert "The reason is not a text" in answer.json()["error"]


def test_a_forced_run_is_refused_with_the_status_that_says_why(operator, observer_client):
    unknown = operator.post("/admin/jobs/shop.ordres/run")
    got = operator.get("/admin/jobs/shop.orders/run")

    assert (unknown.status_code, unknown.json()["nearest"]) == (404, "shop.orders")
    assert operator.post("/admin/jobs/shop.closing/run").status_code == 409
    assert (got.status_code, got.headers["Allow"]) == (405, "POST")
    assert observer_client.post("/admin/jobs/shop.orders/run").status_code == 403
    assert Client().post("/admin/jobs/shop.orders/run").status_code == 403
    assert not JobRun.objects.exists()


@pytest.fixture
def observer_client() -> Client:
    user = UserFactory()
    give(user, "jobs.view_jobstate")
    client = Client()
    client.force_login(user)
    return client


def test_the_permission_alone_is_not_enough_for_somebody_who_is_not_staff():
    client = browser("jobs.run_job", is_staff=False)

    assert client.post("/admin/jobs/shop.orders/run").status_code == 403


def test_a_forced_run_needs_the_csrf_token():
    user = UserFactory(is_superuser=True)
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)

    refused = client.post("/admin/jobs/shop.orders/run")
    client.get(verb_page("shop.orders", "run"))
    token = client.cookies["csrftoken"].value
    taken = client.post("/admin/jobs/shop.orders/run", headers={"X-CSRFToken": token})

    assert (refused.status_code, taken.status_code) == (403, 202)


def test_a_running_run_can_be_cancelled_from_its_job_and_its_page(operator):
    JobStateFactory(job_id="shop.orders")
    run = JobRunFactory(job_id="shop.orders", running=True)
    cancel = f"/admin/jobs/jobrun/verb/cancel/?ids={run.pk}"

    assert f'href="{cancel}">Cancel run {run.pk}…' in text_of(operator.get(page_of("shop.orders")))
    assert f'href="{cancel}">Cancel…' in text_of(operator.get(object_path(JobRun, run.pk)))
    assert "sees the wish within a heartbeat" in text_of(operator.get(cancel))
    for _ in range(2):
        operator.post("/admin/jobs/jobrun/verb/cancel/", {"ids": run.pk, "reason": "too long"})

    run.refresh_from_db()
    assert run.status == "running"
    assert run.cancel_requested_at is not None
    audit = AuditLog.objects.get()
    assert (audit.verb, audit.target) == ("cancel", f"job_runs {run.pk}")
    assert LogEntry.objects.get().object_id == str(run.pk)
    assert "Cancel…" not in text_of(operator.get(object_path(JobRun, run.pk)))


def test_a_pass_of_a_queue_worker_is_not_cancelled(operator):
    run = JobRunFactory(running=True)

    assert "Cancel…" not in text_of(operator.get(object_path(JobRun, run.pk)))
    response = operator.post(
        "/admin/jobs/jobrun/verb/cancel/", {"ids": run.pk, "reason": "x"}, follow=True
    )

    assert "pause the job instead" in text_of(response)
    assert not AuditLog.objects.exists()


def test_cancelling_needs_its_permission(observer):
    run = JobRunFactory(job_id="shop.orders", running=True)

    assert "Cancel…" not in text_of(observer.get(object_path(JobRun, run.pk)))
    path = "/admin/jobs/jobrun/verb/cancel/"
    assert observer.post(path, {"ids": run.pk, "reason": "x"}).status_code == 403


def test_a_run_leads_to_its_job_its_configuration_and_runs_with_the_same_error(anna):
    runs = [JobRunFactory(failed=True) for _ in range(3)]
    JobRunFactory(status="failed", error="KeyError: 'other'")
    JobRunFactory(failed=True, job_id="shop.orders")

    text = text_of(anna.get(object_path(JobRun, runs[1].pk)))
    listed = anna.get(f"/admin/jobs/jobrun/?same_error={runs[1].pk}")

    assert f'href="{page_of("emails.processor")}"' in text
    assert 'href="/admin/emails/emailjob/"' in text
    assert "Same error: 3 runs" in text
    assert [row.pk for row in listed.context["cl"].result_list] == [run.pk for run in runs[::-1]]
    assert anna.get("/admin/jobs/jobrun/?same_error=x").status_code == 302


def test_pages_say_how_they_refresh_themselves_unless_they_are_told_not_to(anna, settings):
    run, ended = JobRunFactory(running=True), JobRunFactory()
    live = 'data-live-seconds="3"'

    for path in (JOBS, page_of("shop.orders"), object_path(JobRun, run.pk)):
        text = text_of(anna.get(path))
        assert live in text
        assert "jobs/live.js" in text
        off = text_of(anna.get(f"{path}?live=off"))
        assert "data-live-off" in off
        assert "jobs/live.js" not in off
    assert live not in text_of(anna.get(object_path(JobRun, ended.pk)))
    settings.CONSOLE_LIVE_SECONDS = 0
    assert "data-live-seconds" not in text_of(anna.get(JOBS))


def test_no_page_of_a_job_has_inline_script_or_style(anna):
    JobStateFactory(job_id="shop.orders")
    JobRunFactory(job_id="shop.orders", failed=True)

    for path in (JOBS, page_of("shop.orders"), verb_page("shop.orders", "run")):
        text = text_of(anna.get(path))
        for inline in ("<style", " style=", " onclick=", "<script>"):
            assert inline not in text
