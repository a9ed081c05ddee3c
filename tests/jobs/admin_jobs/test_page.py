"""The page of one job, and how pages refresh themselves."""

from __future__ import annotations

import datetime as dt

from django.utils import timezone

from jobs.models import JobRun
from jobs.reads.links import object_path
from tests.factories import AlertFactory, AuditLogFactory, JobRunFactory, JobStateFactory
from tests.jobs.admin_jobs.conftest import JOBS, page_of, text_of, verb_page


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
        "Bill the orders.", "tests/jobs/admin_jobs/conftest.py:", "In Europe/Berlin", "51 s",
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
