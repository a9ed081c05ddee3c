"""What a deleted user has uploaded."""

from __future__ import annotations

import pytest

import deletions
from deletions.models import UserDeletionStep
from jobs.testing import drain
from retention.models import UploadReservation, UploadStatus
from retention.uploads import finalize, reserve, usage_of
from tests.factories import UserFactory
from tests.retention.uploads.conftest import be_finaliser, keys_of, put, unmounted

STEPS = (
    "deletions.access.Deactivate",
    "retention.uploads.erasure_step.DiscardUploads",
    "deletions.local.DeleteLocalRows",
)
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def anna(objects, settings):
    """Return a user with a kept upload and one that was never finalised."""
    settings.USER_DELETION_STEPS = STEPS
    settings.RETRY_BACKOFF_MS = (1,)
    user = UserFactory()
    for is_kept in (True, False):
        reserved = reserve(user, filename="a", size=5)
        put(reserved, b"hello")
        if is_kept:
            finalize(reserved.id)
    return user


def step_of(row) -> UserDeletionStep:
    return UserDeletionStep.objects.get(deletion_id=row.pk, name="uploads")


def test_uploads_go_with_their_user_and_nobody_else_s(anna, objects):
    other = reserve(UserFactory(), filename="a", size=5)
    put(other, b"hello")
    key, row = anna.pk, deletions.request(anna, requested_by="anna")

    drain("deletions.users")

    row.refresh_from_db()
    assert row.status == "done"
    assert step_of(row).state == "done"
    assert usage_of(f"auth.user:{key}").slots == 0
    assert len(keys_of(objects)) == 1
    assert list(UploadReservation.objects.values_list("pk", flat=True)) == [other.id]


def test_the_user_stays_while_the_store_is_down(anna, tmp_path, settings):
    settings.USER_DELETION_MAX_ATTEMPTS = 1
    row = deletions.request(anna, requested_by="anna")

    with unmounted(tmp_path / "objects"):
        drain("deletions.users")

    row.refresh_from_db()
    assert row.status == "abandoned"
    assert step_of(row).state == "failed"
    assert usage_of(anna).slots == 2
    assert type(anna).objects.filter(pk=anna.pk).exists()


def test_one_that_is_being_finalised_is_waited_for(anna):
    pending = UploadReservation.objects.get(status=UploadStatus.PENDING)
    be_finaliser(pending.pk, for_seconds=60)
    row = deletions.request(anna, requested_by="anna")

    drain("deletions.users")

    row.refresh_from_db()
    assert row.status == "pending"
    assert "1 uploads of the user are being finalised" in step_of(row).detail
    assert type(anna).objects.filter(pk=anna.pk).exists()
