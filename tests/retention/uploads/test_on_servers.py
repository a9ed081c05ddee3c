"""Uploads past this site, straight to a server that speaks S3."""

from __future__ import annotations

import datetime as dt
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone

from jobs.objectstore import open_store
from retention.models import UploadReservation
from retention.uploads import finalize, reserve, usage_of
from retention.uploads.errors import UploadsNotReleasedError
from tests.retention.uploads.conftest import expire, keys_of, release_all
from tests.stores.putting import put

pytestmark = [pytest.mark.django_db, pytest.mark.stores]


@pytest.fixture
def store(rclone, bucket, settings):
    """Return rclone with an empty bucket, to which uploads go."""
    settings.OBJECT_STORE_URL, settings.UPLOAD_BUCKET = rclone.endpoint, bucket
    store = open_store()
    store.create_bucket(bucket)
    return store


def test_an_upload_goes_to_the_server_and_is_kept(store, bucket, rclone):
    reserved = reserve("anna", filename="日本 1.txt", size=5, content_type="text/plain")

    assert urlsplit(reserved.url).port == rclone.server.port
    assert put(reserved, b"longer than announced") == 403
    assert put(reserved, b"hello") == 200
    row = finalize(reserved.id)

    assert keys_of(store, bucket) == [row.key]
    with store.open(bucket, row.key) as file:
        assert file.read() == b"hello"


def test_an_address_never_lives_longer_than_its_reservation(store):
    reserved = reserve("anna", filename="a", size=5, seconds=90)

    query = {name: value[0] for name, value in parse_qs(urlsplit(reserved.url).query).items()}
    signed_at = dt.datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%S%z")
    ends_at = signed_at + dt.timedelta(seconds=int(query["X-Amz-Expires"]))
    assert ends_at <= reserved.expires_at
    assert reserved.expires_at - ends_at < dt.timedelta(seconds=20)


def test_what_expires_is_released_there(store, bucket):
    reserved = reserve("anna", filename="a", size=5)
    put(reserved, b"hello")
    expire(reserved.id)

    assert release_all()["released"] == 1
    assert keys_of(store, bucket) == []


def test_what_is_put_after_finalising_is_cleared_when_the_address_has_ended(store, bucket):
    reserved = reserve("anna", filename="a", size=5)
    put(reserved, b"hello")
    row = finalize(reserved.id)
    assert put(reserved, b"later") == 200
    assert len(keys_of(store, bucket)) == 2
    assert release_all()["cleared"] == 0

    over = timezone.now() - dt.timedelta(seconds=1)
    UploadReservation.objects.filter(pk=row.pk).update(staged_until=over)

    assert release_all()["cleared"] == 1
    assert keys_of(store, bucket) == [row.key]
    with store.open(bucket, row.key) as file:
        assert file.read() == b"hello"
    assert release_all()["cleared"] == 0


def test_a_server_that_is_down_is_asked_once_and_nothing_is_given_back(store, bucket, rclone):
    ids = [reserve("anna", filename="a", size=5).id for _ in range(3)]
    expire(*ids)
    rclone.server.kill()
    try:
        with pytest.raises(UploadsNotReleasedError) as failed:
            release_all()
    finally:
        rclone.server.start()

    assert failed.value.output["failed"] == 3
    assert "Unreachable" in failed.value.output["error"]
    rows = UploadReservation.objects.order_by("pk")
    assert [(row.status, row.tries) for row in rows] == [("expiring", 1)] + [("expiring", 0)] * 2
    assert usage_of("anna").slots == 3
    assert release_all() == {"released": 3, "cleared": 0, "failed": 0}
    assert usage_of("anna").slots == 0


def test_parts_that_were_uploaded_are_aborted(swift, bucket, settings):
    settings.OBJECT_STORE_URL, settings.UPLOAD_BUCKET = swift.endpoint, bucket
    open_store().create_bucket(bucket)
    reserved = reserve("anna", filename="a", size=5)
    staged = UploadReservation.objects.get().staged_key
    swift.client.create_multipart_upload(Bucket=bucket, Key=staged)
    expire(reserved.id)

    assert release_all()["released"] == 1
    assert not swift.client.list_multipart_uploads(Bucket=bucket).get("Uploads")
