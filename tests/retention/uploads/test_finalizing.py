from __future__ import annotations

import datetime as dt
import io

import pytest
from django.utils import timezone

from jobs.objectstore import StoreError
from retention.models import UploadReservation, UploadStatus
from retention.uploads import abort, discard, finalize, usage_of
from retention.uploads.errors import (
    NotUploadedError,
    ReservationStateError,
    UnknownReservationError,
    WrongSizeError,
)
from tests.retention.uploads.conftest import (
    be_finaliser,
    expire,
    keys_of,
    put,
    release_all,
    set_status,
    statuses,
    unmounted,
)

pytestmark = pytest.mark.django_db


def test_a_finalised_upload_is_kept_at_its_own_key_and_holds_its_quota(objects, reserved):
    put(reserved, b"hello")

    row = finalize(reserved.id, owner="anna")

    assert (row.status, row.key) == ("completed", reserved.key)
    assert keys_of(objects) == [reserved.key]
    assert usage_of("anna").slots == 1
    expire(reserved.id)
    assert release_all() == {"released": 0, "cleared": 0, "failed": 0}
    assert keys_of(objects) == [reserved.key]


def test_finalising_twice_is_finalising_once(objects, reserved):
    put(reserved, b"hello")
    first = finalize(reserved.id)

    again = finalize(reserved.id)

    assert again.completed_at == first.completed_at


def test_nothing_uploaded_leaves_the_reservation_as_it_was(objects, reserved):
    with pytest.raises(NotUploadedError):
        finalize(reserved.id)

    assert list(statuses()) == ["pending"]
    put(reserved, b"hello")
    assert finalize(reserved.id).status == "completed"


def test_an_object_of_another_size_is_not_kept(objects, reserved):
    row = UploadReservation.objects.get()
    put(reserved, b"hello")
    UploadReservation.objects.update(size=6)

    with pytest.raises(WrongSizeError, match="has 5 bytes and 6 were announced"):
        finalize(reserved.id)

    assert list(statuses()) == ["pending"]
    assert keys_of(objects) == [row.staged_key]


def test_somebody_else_s_reservation_is_unknown(objects, reserved):
    put(reserved, b"hello")

    for act in (finalize, abort, discard):
        with pytest.raises(UnknownReservationError):
            act(reserved.id, owner="otto")
    with pytest.raises(UnknownReservationError):
        finalize(reserved.id + 1)

    assert list(statuses()) == ["pending"]


def test_what_is_being_released_cannot_be_finalised(objects, reserved):
    put(reserved, b"hello")
    set_status(reserved, UploadStatus.EXPIRING)

    with pytest.raises(ReservationStateError, match="has expired"):
        finalize(reserved.id)


def test_what_another_finaliser_has_is_left_to_it_until_it_is_believed_dead(objects, reserved):
    put(reserved, b"hello")
    be_finaliser(reserved.id, for_seconds=60)
    with pytest.raises(ReservationStateError, match="somebody else"):
        finalize(reserved.id)

    be_finaliser(reserved.id, for_seconds=-1)

    assert finalize(reserved.id).status == "completed"


def test_a_finaliser_that_died_after_the_move_is_finished_by_the_next(objects, reserved):
    put(reserved, b"hello")
    row = UploadReservation.objects.get()
    be_finaliser(reserved.id, for_seconds=-1)
    objects.move("uploads", row.staged_key, row.key)

    assert finalize(reserved.id).status == "completed"
    assert keys_of(objects) == [reserved.key]


def test_a_dead_finaliser_s_object_is_released_with_its_reservation(objects, reserved):
    put(reserved, b"hello")
    row = UploadReservation.objects.get()
    be_finaliser(reserved.id, for_seconds=-1)
    objects.move("uploads", row.staged_key, row.key)
    expire(reserved.id)

    assert release_all()["released"] == 1
    assert keys_of(objects) == []
    assert usage_of("anna").slots == 0


def test_a_living_finaliser_is_waited_for_though_the_time_is_over(objects, reserved):
    put(reserved, b"hello")
    be_finaliser(reserved.id, for_seconds=60)
    expire(reserved.id)

    assert release_all()["released"] == 0
    assert list(statuses()) == ["completing"]


def test_a_finaliser_that_outlived_its_claim_keeps_nothing(objects, reserved, monkeypatch):
    from retention.uploads import finalizing

    put(reserved, b"hello")
    keep = finalizing._keep

    def slow_keep(store, row):
        keep(store, row)
        claimed_until = timezone.now() - dt.timedelta(seconds=1)
        UploadReservation.objects.update(claimed_until=claimed_until)
        expire(reserved.id)
        release_all()
        objects.write("uploads", row.key, io.BytesIO(b"hello"))  # its copy ends only now

    monkeypatch.setattr(finalizing, "_keep", slow_keep)

    with pytest.raises(ReservationStateError, match="released meanwhile"):
        finalize(reserved.id)

    assert keys_of(objects) == []
    assert not UploadReservation.objects.exists()


def test_a_store_that_fails_gives_the_reservation_back(objects, reserved, tmp_path):
    put(reserved, b"hello")

    with unmounted(tmp_path / "objects"), pytest.raises(StoreError):
        finalize(reserved.id)

    assert list(statuses()) == ["pending"]
    assert finalize(reserved.id).status == "completed"


def test_an_aborted_reservation_is_gone_at_once(objects, reserved):
    put(reserved, b"hello")

    assert abort(reserved.id, owner="anna")

    assert keys_of(objects) == []
    assert usage_of("anna").slots == 0
    with pytest.raises(UnknownReservationError):
        abort(reserved.id)


def test_what_is_kept_is_discarded_and_not_aborted(objects, reserved):
    put(reserved, b"hello")
    finalize(reserved.id)

    with pytest.raises(ReservationStateError, match="is kept: discard it"):
        abort(reserved.id)
    assert keys_of(objects) == [reserved.key]
    assert discard(reserved.id)

    assert keys_of(objects) == []
    assert usage_of("anna").slots == 0


def test_what_is_being_finalised_cannot_be_given_up(objects, reserved):
    be_finaliser(reserved.id, for_seconds=60)

    for act in (abort, discard):
        with pytest.raises(ReservationStateError, match="being finalised"):
            act(reserved.id)
