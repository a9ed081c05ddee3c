"""Cancelling a run from the pages."""

from __future__ import annotations

from django.contrib.admin.models import LogEntry

from jobs.models import AuditLog, JobRun
from jobs.reads.links import object_path
from tests.factories import JobRunFactory, JobStateFactory
from tests.jobs.admin_jobs.conftest import page_of, text_of


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
