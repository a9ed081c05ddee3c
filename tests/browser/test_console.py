"""The console's pages in a real browser, light and dark."""

from __future__ import annotations

import pytest

from emails.models import EmailJob
from jobs.models import AuditLog, JobRun, Worker
from jobs.signin.links import create_link
from tests.browser import demo
from tests.factories import EmailJobFactory, JobRunFactory, UserFactory

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LISTS = {
    "runs": "/admin/jobs/jobrun/",
    "activity": "/admin/jobs/activitylog/",
    "workers": "/admin/jobs/worker/",
    "audit": "/admin/jobs/auditlog/",
    "mails": "/admin/emails/emailjob/",
}


def test_every_list_says_what_to_do_when_it_is_empty(operator, theme):
    for name, path in LISTS.items():
        operator.open(path)

        assert operator.page.locator(".console-empty").count() == 1, name
        operator.picture(f"empty-{name}-{theme}")

    operator.open(LISTS["workers"])
    assert "manage.py runworkers" in operator.page.locator(".console-empty").inner_text()


def test_every_list_shows_its_rows(operator, theme):
    demo.fill()

    for name, path in LISTS.items():
        operator.open(path)

        assert operator.page.locator("#result_list tbody tr").count() >= 1, name
        operator.picture(f"many-{name}-{theme}")


def test_older_runs_are_a_click_away_and_a_filter_begins_anew(operator, theme):
    JobRunFactory.create_batch(120)
    JobRunFactory(failed=True)

    operator.open(LISTS["runs"])
    operator.page.click("text=Older")
    operator.page.wait_for_url("**before=**")
    operator.page.click("summary:has-text('Status')")
    operator.picture(f"filter-{theme}")
    operator.page.click(".console-filters >> text='failed'")

    operator.page.wait_for_url("**/?status=failed")
    assert operator.page.locator("#result_list tbody tr").count() == 1
    operator.page.click("text=Clear all filters")
    operator.page.wait_for_url("**/jobrun/?")
    assert operator.page.locator(".console-pages").inner_text().startswith("121 runs")


def test_a_term_that_cannot_be_searched_for_gets_help(operator, theme):
    JobRunFactory()

    operator.open(LISTS["runs"])
    operator.page.fill("#searchbar", "anything")
    operator.page.press("#searchbar", "Enter")

    operator.page.wait_for_selector(".messagelist .warning")
    assert operator.page.locator(".console-empty").inner_text() == "Nothing matches."
    operator.picture(f"search-help-{theme}")


def test_a_failed_run_shows_its_error_its_log_and_its_neighbours(operator, theme):
    demo.fill()
    run = JobRun.objects.get(status="failed")

    operator.open(LISTS["runs"])
    operator.page.click(f"#result_list >> text='{run.pk}'")

    assert "SMTPServerDisconnected" in operator.page.locator(".console-section").first.inner_text()
    assert operator.page.get_by_text("smtp_greeting_slow").count() == 1
    operator.picture(f"run-failed-{theme}")
    operator.page.click("text=Previous run")
    assert JobRun.objects.filter(pk__lt=run.pk).order_by("-pk")[0].pk == _key_of(operator.page.url)


def test_a_summary_is_drawn_as_a_table(operator, theme):
    demo.fill()
    run = JobRun.objects.get(job_id="retention.sweep", status="succeeded")

    operator.open(f"/admin/jobs/jobrun/{run.pk}/change/")

    assert operator.page.get_by_role("cell", name="51,230").count() == 1
    operator.picture(f"run-summary-{theme}")


def test_a_worker_shows_its_loops(operator, theme):
    demo.fill()
    worker = Worker.objects.filter(stopped_at=None).order_by("name")[0]

    operator.open(LISTS["workers"])
    operator.page.click(f"text={worker.name}")

    assert operator.page.get_by_role("rowheader", name="emails.processor").count() == 1
    operator.picture(f"worker-{theme}")


def test_a_dead_letter_is_retried_with_a_reason_and_the_audit_says_so(operator, theme):
    demo.fill()
    mail = EmailJob.objects.get(status="failed", next_retry_at=None)

    operator.open(f"/admin/emails/emailjob/{mail.pk}/change/")
    operator.picture(f"mail-dead-{theme}")
    operator.page.click("text=Retry…")
    operator.picture(f"verb-{theme}")
    operator.page.fill("textarea[name=reason]", "the mailbox exists now")
    operator.page.click("input[type=submit][value=Retry]")

    operator.page.wait_for_selector(".messagelist")
    mail.refresh_from_db()
    assert (mail.status, mail.attempts) == ("pending", 0)
    assert AuditLog.objects.filter(reason="the mailbox exists now").count() == 1
    operator.picture(f"mail-retried-{theme}")


def test_ticked_mails_are_cancelled_through_the_list(operator, theme):
    mails = EmailJobFactory.create_batch(3)

    operator.open(LISTS["mails"])
    operator.page.check(f"input[name=_selected_action][value='{mails[0].pk}']")
    operator.page.check(f"input[name=_selected_action][value='{mails[2].pk}']")
    operator.page.select_option("select[name=action]", "cancel_selected")
    operator.page.click("button[name=index]")
    operator.page.fill("textarea[name=reason]", "sent twice by mistake")
    operator.page.click("input[type=submit][value=Cancel]")

    operator.page.wait_for_selector(".messagelist")
    states = dict(EmailJob.objects.values_list("pk", "status"))
    assert [states[mail.pk] for mail in mails] == ["cancelled", "pending", "cancelled"]
    operator.picture(f"mails-cancelled-{theme}")


def test_a_sign_in_link_leads_into_the_console_once(visitor, theme):
    _, path = create_link(UserFactory(is_superuser=True))

    visitor.open(path)
    visitor.picture(f"signin-{theme}")
    visitor.page.click("input[type=submit]")

    visitor.page.wait_for_url("**/admin/")
    assert visitor.page.locator("#site-name").count() == 1


def _key_of(address: str) -> int:
    return int(address.rstrip("/").split("/")[-2])
