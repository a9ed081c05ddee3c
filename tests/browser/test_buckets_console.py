"""The pages of bucket deletions in a real browser, under the site's content policy."""

from __future__ import annotations

import pytest

from tests.factories.buckets import BucketDeletionJobFactory

pytestmark = pytest.mark.browser


def test_an_operator_sees_the_progress_and_requeues_what_was_given_up(operator):
    operator.open("/admin/deletions/bucketdeletionjob/")
    operator.picture("buckets-empty")
    abandoned = BucketDeletionJobFactory(abandoned=True, bucket_name="photos")
    for state in ("done", "processing", "retrying", "cancelled"):
        BucketDeletionJobFactory(**{state: True})
    BucketDeletionJobFactory(prefix="users/942/", bucket_name="shared")

    operator.open("/admin/deletions/bucketdeletionjob/")
    operator.picture("buckets")
    operator.page.get_by_role("link", name=str(abandoned.pk), exact=True).click()
    operator.page.get_by_text("Not deleted by the last claim").wait_for()
    operator.picture("bucket")
    operator.page.get_by_role("link", name="Requeue…").click()
    operator.page.get_by_label("Reason").fill("the lock is off")
    operator.picture("bucket-requeue")
    operator.page.locator("#verb-form [type=submit]").click()
    operator.page.get_by_text("requeued").first.wait_for()

    abandoned.refresh_from_db()
    assert abandoned.status == "pending"
