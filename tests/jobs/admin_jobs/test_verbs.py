"""What an operator may do to a job from its page."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from jobs.models import AuditLog, JobRun, JobState
from jobs.reads.inventory import get_job
from jobs.reads.links import object_path
from tests.factories import JobStateFactory
from tests.jobs.admin_jobs.conftest import browser, page_of, text_of, verb_page


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
