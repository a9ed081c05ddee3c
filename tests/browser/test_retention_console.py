"""The page Retention in a real browser, under the site's content policy."""

from __future__ import annotations

import pytest

from jobs.models import Alert
from retention import configuring
from retention.models import TargetConfig
from tests.factories import AlertFactory, JobRunFactory
from tests.retention.conftest import days_ago

pytestmark = pytest.mark.browser


def test_an_administrator_sets_days_previews_and_changes_the_schedule(operator):
    configuring.add_rows()
    TargetConfig.objects.filter(pk__in=("emails.sent", "jobs.runs", "emails.dead")).update(days=30)
    TargetConfig.objects.filter(pk="emails.bodies").update(days=0)
    TargetConfig.objects.create(name="shop.carts", days=7)
    AlertFactory(resolved_at=days_ago(100))
    JobRunFactory(
        job_id="retention.sweep",
        failed=True,
        output={
            "emails.sent": {"deleted": 100_000, "batches": 50, "truncated": True},
            "jobs.runs": {"deleted": 1204, "batches": 1, "truncated": False},
            "emails.dead": {
                "deleted": 0,
                "batches": 0,
                "truncated": False,
                "error": "OperationalError: canceling statement due to lock timeout",
            },
        },
    )

    operator.open("/admin/retention/targetconfig/")
    operator.picture("retention")
    operator.page.get_by_role("link", name="Resolved alerts").click()
    operator.page.get_by_label("Days").fill("1.5")
    operator.page.get_by_role("button", name="Save", exact=True).click()
    operator.page.get_by_text("from 0 to 3650, or nothing").wait_for()
    operator.picture("retention-refused")
    operator.page.get_by_label("Days").fill("30")
    operator.page.get_by_role("button", name="Save", exact=True).click()
    operator.page.get_by_role("link", name="Preview").click()
    operator.page.get_by_text("Counted now; nothing was deleted.").wait_for()
    operator.picture("retention-preview")
    operator.page.get_by_role("link", name="Back to retention").click()
    operator.page.get_by_role("link", name="Change schedule…").click()
    operator.page.get_by_label("Cron expression").fill("30 4 * * *")
    operator.page.get_by_label("Reason").fill("backups at three")
    operator.picture("retention-schedule")
    operator.page.locator("#verb-form [type=submit]").click()
    operator.page.get_by_text("runs at 30 4 * * * UTC from now on").wait_for()
    operator.picture("retention-job")

    assert TargetConfig.objects.get(pk="jobs.alerts").days == 30
    assert Alert.objects.exists()
