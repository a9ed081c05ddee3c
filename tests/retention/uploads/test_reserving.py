from __future__ import annotations

import datetime as dt
import threading

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from jobs.errors import SettingError
from jobs.objectstore import StoreError
from jobs.objectstore.files.keys import split_key
from retention import conf
from retention.models import UploadReservation
from retention.uploads import Quota, Usage, reserve, usage_of
from retention.uploads.errors import (
    ContentTypeError,
    IsolationError,
    OwnerError,
    QuotaExceededError,
    UploadAddressMissingError,
    UploadSecondsError,
    UploadSizeError,
)
from retention.uploads.names import NAME_BYTES, safe_name
from tests.factories import UserFactory

TWO = Quota(slots=2, bytes=100)


@pytest.mark.django_db
def test_a_reservation_takes_a_slot_and_its_bytes_until_it_expires(objects):
    user = UserFactory()

    reserved = reserve(user, filename="Holiday.jpg", size=7, seconds=60, prefix="photos/")

    row = UploadReservation.objects.get(pk=reserved.id)
    assert (row.owner, row.size, row.status) == (f"auth.user:{user.pk}", 7, "pending")
    assert usage_of(user) == Usage(slots=1, bytes=7)
    # The two instants are the clock's, one after the other.
    assert abs(row.expires_at - row.created_at - dt.timedelta(seconds=60)) < dt.timedelta(seconds=1)
    assert abs(reserved.expires_at - timezone.now()) < dt.timedelta(seconds=120)
    assert reserved.key.startswith("photos/")
    assert reserved.key.endswith("/Holiday.jpg")
    assert reserved.method == "PUT"


@pytest.mark.django_db
def test_two_reservations_of_one_name_have_two_places(objects):
    first = reserve("anna", filename="a.txt", size=1)
    second = reserve("anna", filename="a.txt", size=1)

    assert first.key != second.key
    assert first.url != second.url


@pytest.mark.django_db
def test_no_secret_of_the_store_is_in_the_row(settings):
    settings.OBJECT_STORE_URL = "s3://SOMEKEY:s3cretword@127.0.0.1:9/?secure=off"

    reserved = reserve("anna", filename="a.txt", size=1)

    row = UploadReservation.objects.filter(pk=reserved.id).values().get()
    assert row["endpoint"] == "s3://127.0.0.1:9/?secure=off"
    assert not [value for value in row.values() if "s3cretword" in str(value)]
    assert "s3cretword" not in reserved.url


@pytest.mark.django_db
def test_a_quota_of_slots_and_one_of_bytes_are_kept(objects):
    reserve("anna", filename="a", size=60, quota=TWO)
    with pytest.raises(QuotaExceededError) as refused:
        reserve("anna", filename="b", size=41, quota=TWO)
    reserve("anna", filename="b", size=40, quota=TWO)
    with pytest.raises(QuotaExceededError):
        reserve("anna", filename="c", size=0, quota=TWO)

    reserve("otto", filename="a", size=100, quota=TWO)
    assert usage_of("anna") == Usage(slots=2, bytes=100)
    assert "anna has 1 of 2 uploads and 60 of 100 bytes" in str(refused.value)


@pytest.mark.django_db
def test_the_settings_give_the_quota_where_the_caller_gives_none(objects, settings):
    settings.UPLOAD_QUOTA_SLOTS = 1
    reserve("anna", filename="a", size=1)

    with pytest.raises(QuotaExceededError):
        reserve("anna", filename="b", size=1)


@pytest.mark.django_db
def test_objects_of_two_kinds_with_one_key_are_two_owners(objects):
    user, group = UserFactory(pk=7), Group.objects.create(pk=7, name="seven")
    reserve(user, filename="a", size=1)

    assert usage_of(group) == Usage(slots=0, bytes=0)
    assert usage_of("auth.user:7") == Usage(slots=1, bytes=1)


@pytest.mark.django_db(transaction=True)
def test_a_level_at_which_a_quota_would_not_hold_is_refused(objects):
    with pytest.raises(IsolationError, match="repeatable read"), transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reserve("anna", filename="a", size=1)

    assert not UploadReservation.objects.exists()


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".uploads", "a" * 256])
def test_a_setting_that_is_no_bucket_s_name_is_refused(name):
    with pytest.raises(SettingError, match="UPLOAD_BUCKET"):
        conf.UPLOAD_BUCKET.parse(name)


@pytest.mark.django_db(transaction=True)
def test_many_at_once_never_get_more_than_the_quota(objects):
    quota = Quota(slots=5, bytes=50)
    start = threading.Barrier(8)
    outcomes: list[str] = []

    def ask() -> None:
        try:
            start.wait(timeout=20)
            for _ in range(2):
                try:
                    with transaction.atomic():
                        reserve("anna", filename="a", size=10, quota=quota)
                    outcomes.append("reserved")
                except QuotaExceededError:
                    outcomes.append("refused")
        finally:
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)

    assert sorted(outcomes) == ["refused"] * 11 + ["reserved"] * 5
    assert usage_of("anna") == Usage(slots=5, bytes=50)


@pytest.mark.django_db
@pytest.mark.parametrize("size", [-1, 5 * 1024**3 + 1, True, 1.5, "7", None])
def test_a_size_that_is_none_is_refused(objects, size):
    with pytest.raises(UploadSizeError):
        reserve("anna", filename="a", size=size)


@pytest.mark.django_db
@pytest.mark.parametrize("seconds", [0, -1, 604_801, True, 1.5, "60"])
def test_a_time_that_is_none_is_refused(objects, seconds):
    with pytest.raises(UploadSecondsError):
        reserve("anna", filename="a", size=1, seconds=seconds)


@pytest.mark.django_db
@pytest.mark.parametrize("owner", [None, "", "x" * 201, 7, "nul\x00", UserFactory.build()])
def test_an_owner_that_is_none_is_refused(objects, owner):
    with pytest.raises(OwnerError):
        reserve(owner, filename="a", size=1)


@pytest.mark.django_db
@pytest.mark.parametrize("content_type", ["text/plain\r\nX-Evil: 1", "ü/ü", " text/plain"])
def test_a_content_type_that_is_no_header_is_refused(objects, content_type):
    with pytest.raises(ContentTypeError):
        reserve("anna", filename="a", size=1, content_type=content_type)


@pytest.mark.django_db
@pytest.mark.parametrize("prefix", ["../", "/abs/", "a//"])
def test_a_prefix_that_the_store_cannot_hold_is_refused(objects, prefix):
    with pytest.raises(StoreError):
        reserve("anna", filename="a", size=1, prefix=prefix)

    assert not UploadReservation.objects.exists()


@pytest.mark.django_db
def test_a_project_without_the_address_is_told_what_to_add(objects, settings):
    settings.ROOT_URLCONF = "jobs.health.urls"

    with pytest.raises(UploadAddressMissingError, match=r"retention\.uploads\.urls"):
        reserve("anna", filename="a", size=1)

    assert not UploadReservation.objects.exists()


@pytest.mark.parametrize(
    ("filename", "name"),
    [
        ("photo.jpg", "photo.jpg"),
        ("C:\\Users\\anna\\photo.jpg", "photo.jpg"),
        ("../../etc/passwd", "passwd"),
        ("", "file"),
        ("..", "file"),
        ("a/", "file"),
        (" .hidden. ", "hidden"),
        ("tab\tnul\x00.txt", "tabnul.txt"),
        ("日本語.png", "日本語.png"),
        ("n" * 300 + ".jpeg", "n" * 195 + ".jpeg"),
        ("日" * 100 + ".jpeg", "日" * 65 + ".jpeg"),
    ],
)
def test_a_file_s_name_becomes_one_part_of_a_key(filename, name):
    assert safe_name(filename) == name


@given(filename=st.text(max_size=400))
def test_any_name_becomes_one_that_every_store_holds(filename):
    name = safe_name(filename)

    assert split_key(name) == [name]
    assert len(name.encode()) <= NAME_BYTES
    assert safe_name(name) == name
