"""The pages of uploads in a real browser, under the site's content policy."""

from __future__ import annotations

import pytest

from retention.models import UploadReservation
from tests.factories.uploads import UploadReservationFactory
from tests.retention.uploads.conftest import expire

pytestmark = pytest.mark.browser


def test_an_operator_finds_what_is_not_released_and_releases_another(operator):
    operator.open("/admin/retention/uploadreservation/")
    operator.page.get_by_text("Nothing is reserved").wait_for()
    operator.picture("uploads-none")
    UploadReservationFactory.create_batch(55, kept=True, owner="7")
    long_name = f"{'a very long name of a file ' * 6}.jpg"
    UploadReservationFactory(owner=f"customer-{'0123456789' * 12}", filename=long_name)
    UploadReservationFactory(finalising=True)
    overdue, stuck = UploadReservationFactory(), UploadReservationFactory(stuck=True)
    expire(overdue.pk)

    operator.open("/admin/retention/uploadreservation/")
    operator.page.locator("#result_list").get_by_text("not released").wait_for()
    operator.picture("uploads")
    operator.page.get_by_role("link", name=str(stuck.pk), exact=True).first.click()
    operator.page.get_by_text("The quota is kept").wait_for()
    operator.picture("upload-stuck")
    operator.open(f"/admin/retention/uploadreservation/{overdue.pk}/change/")
    operator.picture("upload-expired")
    operator.page.get_by_role("link", name="Release…").click()
    operator.page.get_by_label("Reason").fill("a mistake")
    operator.picture("upload-release")
    operator.page.locator("#verb-form [type=submit]").click()
    operator.page.get_by_text("released").first.wait_for()

    assert UploadReservation.objects.get(pk=overdue.pk).status == "expiring"
