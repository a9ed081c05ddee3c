"""Asking for a deletion, and taking it back."""

from __future__ import annotations

import datetime as dt
import threading

import pytest
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.utils import timezone

import deletions
from deletions.errors import NaiveInstantError, SnapshotError, UnsavedUserError
from deletions.models import DeletionStatus, UserDeletion, UserDeletionStep
from tests.deletions.conftest import is_gone, steps_of
from tests.deletions.shop.models import Order
from tests.factories import UserFactory

SHOP = "tests.deletions.shop.steps"


def in_days(days: int) -> dt.datetime:
    return timezone.now() + dt.timedelta(days=days)


def test_a_request_copies_what_the_external_half_needs(user):
    deletion = deletions.request(user, requested_by=user, reason="moves on")

    assert (deletion.status, deletion.user_id, deletion.reason) == (
        "pending", str(user.pk), "moves on",
    )  # fmt: skip
    assert deletion.snapshot["billing_customer"] == str(user.pk)
    assert deletion.snapshot["buckets"] == []
    assert len(deletion.snapshot["address_hash"]) == 64
    assert "ben" not in str(deletion.snapshot)
    assert steps_of(deletion) == dict.fromkeys(
        ("account", "sessions", "billing", "buckets", "mail", "rows"), "todo"
    )
    get_user_model().objects.get(pk=user.pk, is_active=True)


def test_a_project_adds_to_the_snapshot_and_replaces_the_customer(user, settings):
    settings.USER_DELETION_SNAPSHOT = f"{SHOP}.snapshot"

    deletion = deletions.request(user, requested_by="anna")

    assert deletion.snapshot["billing_customer"] == "cus_ben"
    assert deletion.snapshot["shelf"] == 7


def test_a_snapshot_that_is_no_dict_is_refused_by_its_path(user, settings):
    settings.USER_DELETION_SNAPSHOT = f"{SHOP}.bad_snapshot"

    with pytest.raises(SnapshotError, match=r"bad_snapshot must return a dict"):
        deletions.request(user, requested_by="anna")

    assert not UserDeletion.objects.exists()


@pytest.mark.parametrize("by", ["ben", "ben@example.com", "user"])
def test_who_asks_for_their_own_deletion_is_not_named_in_the_row(user, by):
    deletion = deletions.request(user, requested_by=user if by == "user" else by)

    assert deletion.requested_by == "the user"


def test_an_operator_who_asks_is_named(user):
    anna = UserFactory(username="anna")

    assert deletions.request(user, requested_by=anna).requested_by == "anna"


def test_a_second_request_returns_the_first_row(user):
    first = deletions.request(user, requested_by="anna", reason="first")

    second = deletions.request(user, requested_by="otto", reason="second")

    assert second.pk == first.pk
    assert (second.requested_by, second.reason) == ("anna", "first")
    assert UserDeletion.objects.count() == 1


@pytest.mark.parametrize("status", ["failed", "abandoned"])
def test_what_has_failed_or_was_abandoned_is_live_too(user, status):
    first = deletions.request(user, requested_by="anna")
    since = timezone.now() if status == "abandoned" else None
    UserDeletion.objects.update(status=status, abandoned_at=since)

    assert deletions.request(user, requested_by="anna").pk == first.pk


@pytest.mark.timeout(30)
def test_requests_at_the_same_time_return_one_row(transactional_db, user):
    found: list[int] = []
    begin = threading.Barrier(4)

    def ask() -> None:
        try:
            begin.wait(10)
            with transaction.atomic():
                found.append(deletions.request(user, requested_by="anna").pk)
        finally:
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert len(found) == 4
    assert len(set(found)) == UserDeletion.objects.count() == 1
    assert UserDeletionStep.objects.count() == 6


def test_the_database_refuses_a_second_live_row_and_allows_one_after_the_end(user):
    deletion = deletions.request(user, requested_by="anna", not_before=in_days(1))
    assert deletions.cancel(deletion)

    again = deletions.request(user, requested_by="anna")

    assert again.pk != deletion.pk


def test_before_its_instant_nothing_is_touched_and_it_can_be_cancelled(user, work, billing):
    Order.objects.create(user=user)
    deletion = deletions.request(user, requested_by=user, not_before=in_days(14))

    assert not work()
    assert deletions.cancel(deletion) is True
    assert deletions.cancel(deletion) is False
    work()

    deletion.refresh_from_db()
    assert (deletion.status, deletion.snapshot) == (DeletionStatus.CANCELLED, {})
    assert set(steps_of(deletion).values()) == {"todo"}
    user.refresh_from_db()
    assert user.is_active
    assert Order.objects.count() == 1
    assert billing.received == []


def test_what_is_due_cannot_be_cancelled(user):
    deletion = deletions.request(user, requested_by=user)
    past = deletions.request(UserFactory(), requested_by="anna", not_before=in_days(-1))

    assert not deletions.cancel(deletion)
    assert not deletions.cancel(past.pk)


def test_after_its_instant_it_is_done(user, work):
    deletion = deletions.request(user, requested_by="anna", not_before=in_days(14))
    UserDeletion.objects.update(not_before=in_days(-1), next_retry_at=in_days(-1))

    work()

    deletion.refresh_from_db()
    assert deletion.status == "done"
    assert is_gone(user)


def test_an_instant_without_a_zone_and_a_user_without_a_key_are_refused(user):
    with pytest.raises(NaiveInstantError, match="time zone"):
        deletions.request(user, requested_by="anna", not_before=dt.datetime(2030, 1, 1))  # noqa: DTZ001
    with pytest.raises(UnsavedUserError):
        deletions.request(get_user_model()(), requested_by="anna")


def test_a_request_that_is_rolled_back_is_none(user):
    with pytest.raises(RuntimeError), transaction.atomic():
        deletions.request(user, requested_by="anna")
        raise RuntimeError

    assert not UserDeletion.objects.exists()
