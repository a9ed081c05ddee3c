"""The address of this site for uploads."""

from __future__ import annotations

import pytest
from django.core import signing
from django.test import Client

from retention.models import UploadStatus
from retention.uploads import finalize, reserve
from tests.retention.uploads.conftest import expire, keys_of, put, release_all, set_status

pytestmark = pytest.mark.django_db


def test_what_is_put_is_staged_and_not_kept_yet(objects, reserved):
    answer = put(reserved, b"hello")

    assert answer.status_code == 204
    assert answer["Cache-Control"] == "no-store"
    (key,) = keys_of(objects)
    assert key.startswith("staged/")
    assert key != reserved.key


def test_it_may_be_put_again_until_it_is_finalised(objects, reserved):
    put(reserved, b"first")
    put(reserved, b"again")
    finalize(reserved.id)

    late = put(reserved, b"later")

    assert late.status_code == 410
    assert keys_of(objects) == [reserved.key]
    with objects.open("uploads", reserved.key) as file:
        assert file.read() == b"again"


@pytest.mark.parametrize(
    ("content", "status"), [(b"four", 400), (b"longer", 413), (b"", 400), (b"x" * 3_000_000, 413)]
)
def test_more_or_less_than_announced_is_not_stored(objects, reserved, content, status):
    answer = put(reserved, content)

    assert answer.status_code == status
    objects.create_bucket("uploads")
    assert keys_of(objects) == []
    assert objects.abort_uploads("uploads").deleted == ()


def test_a_length_that_lies_does_not_get_more_in(objects, reserved):
    path = reserved.url.removeprefix("http://127.0.0.1:8000")
    client = Client()

    answer = client.generic("PUT", path, b"longer than five", CONTENT_LENGTH="5")

    assert answer.status_code == 204  # the server reads no more than was announced
    (key,) = keys_of(objects)
    with objects.open("uploads", key) as file:
        assert file.read() == b"longe"


def test_an_upload_of_no_bytes_is_one(objects):
    empty = reserve("anna", filename="empty", size=0)

    assert put(empty, b"").status_code == 204
    assert finalize(empty.id).status == "completed"


@pytest.mark.parametrize(
    "change",
    [
        lambda url: url[:-1] + ("A" if url[-1] != "A" else "B"),
        lambda url: url.rsplit(":", 1)[0],
        lambda url: f"/uploads/{signing.Signer(salt='another').sign('x' * 32)}",
        lambda _url: "/uploads/x",
    ],
    ids=["changed", "unsigned", "signed for something else", "made up"],
)
def test_an_address_that_was_never_given_out_is_none(objects, reserved, change):
    path = change(reserved.url.removeprefix("http://127.0.0.1:8000"))

    assert Client().put(path, b"hello").status_code == 404
    assert not (objects.head("uploads", reserved.key))


def test_an_address_ends_with_its_reservation(objects, reserved):
    expire(reserved.id)
    over = put(reserved, b"hello")
    release_all()
    gone = put(reserved, b"hello")

    assert (over.status_code, gone.status_code) == (410, 410)


def test_what_is_being_released_takes_nothing_any_more(objects, reserved):
    set_status(reserved, UploadStatus.EXPIRING)

    assert put(reserved, b"hello").status_code == 410


def test_an_upload_whose_reservation_goes_meanwhile_leaves_nothing(objects, reserved, monkeypatch):
    from retention.uploads import receiving

    inside = receiving.Body.read

    def read(self, size):
        expire(reserved.id)
        release_all()
        return inside(self, size)

    monkeypatch.setattr(receiving.Body, "read", read)

    answer = put(reserved, b"hello")

    assert answer.status_code in (400, 503)
    assert keys_of(objects) == []


def test_other_methods_do_nothing(objects, reserved):
    client = Client()

    for method in ("get", "post", "delete", "patch"):
        assert getattr(client, method)(reserved.url).status_code == 405


def test_a_store_that_cannot_take_it_is_said_to_be_so(objects, reserved, tmp_path):
    blocked = tmp_path / "objects" / "uploads"
    blocked.rmdir()
    blocked.write_text("no directory")

    assert put(reserved, b"hello").status_code == 503
