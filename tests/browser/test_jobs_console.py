"""The pages of jobs and alerts in a real browser, light and dark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobs.models import Alert, AuditLog, JobRun, JobState
from jobs.reads.links import object_path
from tests.browser import demo, shop
from tests.factories import AlertFactory, JobRunFactory, WorkerFactory

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

JOBS = "/admin/jobs/jobstate/"
ALERTS = "/admin/jobs/alert/"
RUNS = "/admin/jobs/jobrun/"


@pytest.fixture(autouse=True)
def _shop_jobs() -> Iterator[None]:
    with shop.declared():
        yield


def job_page(job_id: str) -> str:
    return object_path(JobState, job_id)


def test_jobs_that_never_ran_are_listed_and_the_command_that_starts_a_worker(operator, theme):
    operator.open(JOBS)

    assert operator.page.locator("#result_list tbody tr").count() == 8
    assert operator.page.locator("#result_list >> text=never ran").count() >= 6
    assert "manage.py runworkers" in operator.page.locator(".errornote").inner_text()
    operator.picture(f"empty-jobs-{theme}")


def test_the_list_of_jobs_shows_health_strips_and_next_runs(operator, theme):
    demo.fill()
    shop.fill()

    operator.open(JOBS)

    strips = operator.page.locator("svg.console-strip")
    assert strips.count() >= 6
    assert "The last 16 runs: 1 failed" in str(strips.first.get_attribute("aria-label"))
    stock = operator.page.locator("#result_list tr", has_text="shop.stock")
    assert "4 failed" in stock.inner_text()
    assert stock.locator(".console-run-failed").count() == 4
    assert stock.locator(".console-run-missed .console-gap").count() == 1
    cleanup = operator.page.locator("#result_list tr", has_text="shop.old_cleanup")
    assert "not declared" in cleanup.inner_text()
    assert operator.page.locator(".errornote").count() == 0
    operator.picture(f"many-jobs-{theme}")


def test_a_failing_job_leads_to_its_alert_its_runs_and_what_closes_it(operator, theme):
    demo.fill()
    shop.fill()

    operator.open(job_page("shop.stock"))
    operator.picture(f"job-failing-{theme}")
    operator.page.click("text=consecutive_failures")

    assert operator.page.get_by_text("One scheduled run succeeds.").count() == 1
    assert operator.page.get_by_text("ALERT_WEBHOOK_URL answered 502").count() == 1
    operator.picture(f"alert-open-{theme}")
    operator.page.locator(".console-section", has_text="What opened it").locator("a").first.click()
    operator.page.wait_for_url("**/jobrun/**")
    assert "StockError" in operator.page.locator(".console-error").inner_text()
    assert operator.page.get_by_text("Same error: 4 runs").count() == 1
    operator.picture(f"run-same-error-{theme}")
    operator.page.click("text=Same error")
    operator.page.wait_for_url("**/?same_error=**")
    assert operator.page.locator("#result_list tbody tr").count() == 4


def test_a_job_shows_its_next_fire_times_in_both_zones(operator, theme):
    shop.fill()

    operator.open(job_page("shop.reports"))

    fires = operator.page.locator(".console-section", has_text="Next fire times")
    assert fires.locator("tbody tr").count() == 5
    assert "In Europe/Berlin" in (fires.text_content() or "")
    operator.picture(f"job-cron-{theme}")


def test_alerts_are_listed_with_their_state(operator, theme):
    operator.open(ALERTS)
    operator.picture(f"empty-alerts-{theme}")
    shop.fill()
    operator.open(ALERTS)

    text = operator.page.locator("#result_list").inner_text()
    for word in ("open", "acknowledged", "resolved"):
        assert word in text
    operator.picture(f"many-alerts-{theme}")


def test_an_alert_is_acknowledged_with_a_note_and_until_when(operator, theme):
    alert = AlertFactory()

    operator.open(object_path(Alert, alert.pk))
    operator.page.click("text=Acknowledge…")
    operator.page.fill("textarea[name=reason]", "the warehouse is being moved")
    operator.page.fill("input[name=until]", "2199-01-02T03:04")
    operator.picture(f"verb-acknowledge-{theme}")
    operator.page.click("input[type=submit][value=Acknowledge]")

    operator.page.wait_for_selector(".messagelist")
    alert.refresh_from_db()
    assert (alert.acknowledged_by, alert.note) == ("anna", "the warehouse is being moved")
    assert alert.acknowledged_until.isoformat() == "2199-01-02T03:04:00+00:00"
    assert AuditLog.objects.filter(verb="acknowledge").count() == 1


def test_run_now_pressed_twice_makes_one_run(operator, theme):
    WorkerFactory()

    operator.open(job_page("shop.import"))
    operator.page.click("text=Run now…")
    operator.page.fill("textarea[name=reason]", "a new catalogue")
    operator.picture(f"verb-run-{theme}")
    operator.page.dblclick("input[type=submit][value='Run now']")

    operator.page.wait_for_url("**/jobrun/**")
    operator.page.wait_for_selector(".messagelist")
    run = JobRun.objects.get()
    assert (run.job_id, run.status, run.reason) == ("shop.import", "requested", "a new catalogue")
    assert AuditLog.objects.filter(verb="run").count() == 1
    operator.picture(f"run-requested-{theme}")


def test_a_job_is_paused_and_resumed(operator, theme):
    shop.fill()

    operator.open(job_page("shop.reports"))
    operator.page.click("text=Pause…")
    operator.page.fill("textarea[name=reason]", "the figures are wrong")
    operator.page.click("input[type=submit][value=Pause]")
    operator.page.wait_for_selector(".messagelist")
    assert JobState.objects.get(pk="shop.reports").pause_reason == "the figures are wrong"
    operator.picture(f"job-paused-{theme}")
    operator.page.click("text=Resume…")
    operator.page.fill("textarea[name=reason]", "mended")
    operator.page.click("input[type=submit][value=Resume]")

    operator.page.wait_for_selector(".messagelist")
    state = JobState.objects.get(pk="shop.reports")
    assert state.paused_at is None
    assert state.next_due_at is not None
    assert list(AuditLog.objects.order_by("pk").values_list("verb", flat=True))[-2:] == [
        "pause",
        "resume",
    ]


def test_a_running_run_shows_its_progress_and_is_cancelled(operator, theme):
    shop.fill()
    run = JobRun.objects.get(status="running")

    operator.open(object_path(JobRun, run.pk))
    assert operator.page.locator("progress").get_attribute("max") == "51000"
    operator.picture(f"run-running-{theme}")
    operator.page.click("text=Cancel…")
    operator.page.fill("textarea[name=reason]", "the wrong file")
    operator.page.click("input[type=submit][value=Cancel]")

    operator.page.wait_for_selector(".messagelist")
    run.refresh_from_db()
    assert run.cancel_requested_at is not None
    assert operator.page.get_by_text("Somebody has cancelled it").count() == 1
    assert operator.page.locator("text=Cancel…").count() == 0


def test_the_list_refreshes_itself_while_somebody_is_there(operator, theme, settings):
    settings.CONSOLE_LIVE_SECONDS = 1
    JobRunFactory()
    operator.open(RUNS)
    assert operator.page.locator("#result_list tbody tr").count() == 1

    JobRunFactory(failed=True)

    operator.page.wait_for_selector("#result_list tbody tr:nth-child(2)")
    assert operator.page.locator(".console-pages").inner_text().startswith("2 runs")


@pytest.mark.parametrize("hand", ["box", "field", "detail"])
def test_nothing_is_swept_from_under_a_hand(operator, theme, settings, hand):
    settings.CONSOLE_LIVE_SECONDS = 1
    AlertFactory()
    operator.open(ALERTS)
    page = operator.page
    begin = {
        "box": lambda: page.check("input[name=_selected_action]"),
        "field": lambda: page.focus("#searchbar"),
        "detail": lambda: page.click("summary:has-text('State')"),
    }
    end = {
        "box": lambda: page.uncheck("input[name=_selected_action]"),
        "field": lambda: page.evaluate("document.activeElement.blur()"),
        "detail": lambda: page.click("summary:has-text('State')"),
    }

    begin[hand]()
    page.wait_for_selector("[data-live-state]:has-text('waits while')")
    AlertFactory(subject="shop.stock")
    page.evaluate("new Promise(done => setTimeout(done, 2500))")
    assert page.locator("#result_list tbody tr").count() == 1
    end[hand]()
    # A ticked box keeps the focus, and a detail its own: the hand goes on.
    page.evaluate("document.activeElement.blur()")

    page.wait_for_selector("#result_list tbody tr:nth-child(2)")


def test_boxes_work_after_a_refresh(operator, theme, settings):
    settings.CONSOLE_LIVE_SECONDS = 1
    AlertFactory()
    operator.open(ALERTS)
    AlertFactory(subject="shop.stock")
    operator.page.wait_for_selector("#result_list tbody tr:nth-child(2)")

    operator.page.check("#action-toggle")

    assert operator.page.locator("input[name=_selected_action]:checked").count() == 2
    assert operator.page.locator(".action-counter").inner_text().startswith("2 of 2")


@pytest.mark.parametrize("off", ["address", "setting"])
def test_refreshing_can_be_turned_off(operator, theme, settings, off):
    settings.CONSOLE_LIVE_SECONDS = 0 if off == "setting" else 1
    operator.open(f"{RUNS}?live=off" if off == "address" else RUNS)

    assert operator.page.locator("script[src*='live.js']").count() == 0
    JobRunFactory()
    operator.open(f"{RUNS}?live=off")
    assert operator.page.locator("#result_list tbody tr").count() == 1
