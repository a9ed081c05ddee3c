"""The halves and their steps: which go first, which hold up others, which have failed."""

from __future__ import annotations

import datetime as dt

import pytest
from django.utils import timezone

import deletions
from deletions.verbs import requeue
from jobs.models.audit import Via
from tests.deletions.conftest import is_gone, step_of, steps_of
from tests.deletions.shop.models import Call, Invoice, Order
from tests.deletions.stepping import SHIPPED, exhaust, with_steps


@pytest.mark.usefixtures("retry_now")
def test_a_restrict_key_is_named_and_after_its_removal_billing_is_not_called_again(
    user, work, billing
):
    invoice = Invoice.objects.create(user=user)
    deletion = deletions.request(user, requested_by=user)

    exhaust(work, deletion)

    deletion.refresh_from_db()
    assert deletion.status == "abandoned"
    states = steps_of(deletion)
    assert (states["billing"], states["mail"], states["rows"]) == ("done", "done", "failed")
    detail = step_of(deletion, "rows").detail
    assert "shop_invoice" in detail
    assert "shop_invoice_user_id_" in detail
    assert "fk_auth_user_id" in detail
    assert detail in deletion.last_error
    assert not is_gone(user)

    invoice.delete()
    requeue([deletion.pk], actor=None, via=Via.COMMAND)
    work()

    deletion.refresh_from_db()
    assert deletion.status == "done"
    assert len(billing.received) == 1


def test_external_steps_are_independent_and_local_rows_wait_for_all_of_them(
    user, work, billing, settings
):
    with_steps(settings, "NewsletterList")
    billing.answer = (500, "")
    Order.objects.create(user=user)
    deletion = deletions.request(user, requested_by=user)

    assert work()["failed"] == 1

    states = steps_of(deletion)
    assert (states["billing"], states["newsletter"]) == ("failed", "done")
    assert (states["mail"], states["rows"]) == ("todo", "todo")
    assert Order.objects.count() == 1
    deletion.refresh_from_db()
    assert deletion.status == "failed"
    assert deletion.next_retry_at > timezone.now() + dt.timedelta(seconds=25)


def test_a_step_that_is_not_blocking_lets_rows_go_and_keeps_the_deletion_open(user, work, settings):
    with_steps(settings, "Counter")
    settings.COUNTER_FAILS = True
    deletion = deletions.request(user, requested_by=user)

    work()

    assert is_gone(user)
    states = steps_of(deletion)
    assert (states["counter"], states["rows"]) == ("failed", "done")
    deletion.refresh_from_db()
    assert deletion.status == "failed"


@pytest.mark.usefixtures("retry_now")
def test_steps_that_are_done_are_not_run_again(user, work, settings):
    with_steps(settings, "NewsletterList", "Counter")
    settings.COUNTER_FAILS = True
    deletions.request(user, requested_by=user)

    for _ in range(3):
        work()

    assert Call.objects.filter(step="newsletter").count() == 1
    assert Call.objects.filter(step="counter").count() == 3


def test_an_error_that_nobody_expected_keeps_its_traceback_and_no_secret(user, work, settings):
    with_steps(settings, "NewsletterList")
    settings.NEWSLETTER_FAILS = True
    deletion = deletions.request(user, requested_by=user)

    work()

    detail = step_of(deletion, "newsletter").detail
    assert detail.startswith("RuntimeError: no answer from the newsletter")
    assert "steps.py" in detail
    assert "abc123" not in detail
    deletion.refresh_from_db()
    assert deletion.last_error.startswith("newsletter: RuntimeError")


def test_without_a_billing_service_the_step_is_skipped(user, work):
    deletion = deletions.request(user, requested_by=user)

    work()

    assert steps_of(deletion)["billing"] == "skipped"
    deletion.refresh_from_db()
    assert deletion.status == "done"


def test_a_step_of_the_row_that_the_setting_does_not_list_is_a_failure_not_a_gap(
    user, work, settings
):
    with_steps(settings, "NewsletterList")
    deletion = deletions.request(user, requested_by=user)
    settings.USER_DELETION_STEPS = SHIPPED

    work()

    assert steps_of(deletion)["newsletter"] == "failed"
    assert "named 'newsletter'" in step_of(deletion, "newsletter").detail
    assert not is_gone(user)


def test_a_step_that_was_added_since_the_request_is_run(user, work, settings):
    deletion = deletions.request(user, requested_by=user)
    with_steps(settings, "NewsletterList")

    work()

    assert steps_of(deletion)["newsletter"] == "done"


def test_a_step_that_returns_something_else_has_failed(user, work, settings):
    with_steps(settings, "Wordy")
    deletion = deletions.request(user, requested_by=user)

    work()

    assert "returned 'done I think'" in step_of(deletion, "wordy").detail
