"""The pages of deletions in a real browser, under the site's content policy."""

from __future__ import annotations

import pytest

from deletions.models import BillingAudit
from tests.factories.deletions import UserDeletionFactory

pytestmark = pytest.mark.browser


def test_an_operator_finds_an_abandoned_deletion_and_requeues_it(operator):
    abandoned = UserDeletionFactory(abandoned=True, rows_deleted=1200, rows_total=5000)
    UserDeletionFactory.create_batch(3, done=True)
    UserDeletionFactory(in_two_weeks=True)
    BillingAudit.objects.create(
        deletion_id=abandoned.pk,
        url="https://billing.example/cancel",
        idempotency_key="k",
        status_code=503,
        outcome="failed",
        answer="down",
        milliseconds=81,
    )

    operator.open("/admin/deletions/userdeletion/")
    operator.picture("deletions")
    operator.page.get_by_role("link", name="Only these").click()
    operator.page.get_by_text("Requeue all abandoned…").wait_for()
    operator.picture("deletions-abandoned")
    operator.page.get_by_role("link", name=str(abandoned.pk), exact=True).first.click()
    operator.page.get_by_text("Left behind:").wait_for()
    operator.picture("deletion")
    operator.page.get_by_role("link", name="Requeue…").click()
    operator.page.get_by_label("Reason").fill("billing is back")
    operator.picture("deletion-requeue")
    operator.page.locator("#verb-form [type=submit]").click()
    operator.page.get_by_text("requeued").first.wait_for()

    abandoned.refresh_from_db()
    assert (abandoned.status, abandoned.requeues) == ("pending", 1)
