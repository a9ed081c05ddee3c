"""What every store does alike: a directory, rclone and Swift."""

from __future__ import annotations

import io

import pytest

from jobs.objectstore import (
    BatchResult,
    BucketNotEmptyError,
    ErrorKind,
    InvalidBucketError,
    NoSuchBucketError,
    NoSuchObjectError,
    ObjectTooBigError,
    ObjectVersion,
    Page,
    StoreError,
    VersionPage,
    open_store,
)
from tests.forms import FULL

# It does all of it more slowly; what it alone does is in the short form too.
IN_FULL = pytest.mark.skipif(not FULL, reason="Swift takes long: with ENGINEROOM_FULL=1")


@pytest.fixture(
    params=[
        "file",
        pytest.param("rclone", marks=pytest.mark.stores),
        pytest.param("swift", marks=[pytest.mark.stores, IN_FULL]),
    ]
)
def store(request, tmp_path):
    if request.param == "file":
        return open_store(tmp_path.as_uri())
    return request.getfixturevalue(f"{request.param}_store")


@pytest.fixture
def filled(store, bucket):
    """Return a bucket with keys whose order by bytes is not that of their directories."""
    store.create_bucket(bucket)
    for key in ("b/c", "b.txt", "a", "b/c2/d", "ü"):
        store.write(bucket, key, io.BytesIO(b"content"))
    return bucket


def test_keys_are_listed_in_the_order_of_their_bytes(store, filled):
    page = store.list_page(filled)

    assert page == Page(keys=("a", "b.txt", "b/c", "b/c2/d", "ü"), is_last=True)


def test_pages_go_on_after_the_last_key(store, filled):
    first = store.list_page(filled, limit=2)
    second = store.list_page(filled, limit=2, after=first.keys[-1])
    third = store.list_page(filled, limit=2, after=second.keys[-1])

    assert [first.is_last, second.is_last, third.is_last] == [False, False, True]
    assert first.keys + second.keys + third.keys == store.list_page(filled).keys


def test_a_prefix_is_a_beginning_of_keys_and_no_directory(store, filled):
    assert store.list_page(filled, prefix="b/c").keys == ("b/c", "b/c2/d")
    assert store.list_page(filled, prefix="b/c", after="b/c").keys == ("b/c2/d",)
    assert store.list_page(filled, prefix="nothing").keys == ()


def test_a_batch_confirms_each_key_also_one_that_is_not_there(store, filled):
    result = store.delete_batch(filled, ["a", "b/c", "never/there"])

    assert (sorted(result.deleted), result.errors) == (["a", "b/c", "never/there"], ())
    assert store.list_page(filled).keys == ("b.txt", "b/c2/d", "ü")


def test_only_an_empty_bucket_can_be_removed(store, filled):
    with pytest.raises(BucketNotEmptyError):
        store.drop_bucket(filled)
    store.delete_batch(filled, store.list_page(filled).keys)

    store.drop_bucket(filled)

    with pytest.raises(NoSuchBucketError):
        store.list_page(filled)


def test_making_a_bucket_twice_is_making_it_once(store, filled):
    store.create_bucket(filled)

    assert len(store.list_page(filled).keys) == 5


@pytest.mark.parametrize(
    "ask",
    [
        lambda store, bucket: store.list_page(bucket),
        lambda store, bucket: store.delete_batch(bucket, ["a"]),
        lambda store, bucket: store.drop_bucket(bucket),
        lambda store, bucket: store.write(bucket, "a", io.BytesIO(b"x")),
        lambda store, bucket: store.abort_uploads(bucket),
    ],
    ids=["list", "delete", "drop", "write", "abort"],
)
def test_a_bucket_that_is_not_there_has_an_error_of_its_own(store, bucket, ask):
    with pytest.raises(NoSuchBucketError) as refused:
        ask(store, bucket)

    assert refused.value.kind is ErrorKind.NO_BUCKET


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".uploads", "a/b", "../x", "a\x00", "ü", "a" * 256]
)
def test_a_name_that_no_bucket_can_have_is_refused(store, name):
    for ask in (store.list_page, store.create_bucket, store.drop_bucket, store.abort_uploads):
        with pytest.raises(InvalidBucketError):
            ask(name)


def test_an_object_is_read_as_it_was_written(store, filled):
    content = bytes(range(256)) * 5000

    size = store.write(filled, "data", io.BytesIO(content))

    with store.open(filled, "data") as file:
        assert file.read(10) == content[:10]
        assert file.read() == content[10:]
    info = store.head(filled, "data")
    assert info is not None
    assert (size, info.size) == (len(content), len(content))


def test_what_is_not_there_is_none_or_an_error(store, filled):
    assert store.head(filled, "none") is None
    assert store.head(filled, "b") is None  # no more than the beginning of a key
    with pytest.raises(NoSuchObjectError):
        store.open(filled, "none")
    with pytest.raises(NoSuchObjectError):
        store.move(filled, "none", "other")
    store.delete(filled, "none")


def test_writing_again_replaces_the_object(store, filled):
    store.write(filled, "a", io.BytesIO(b"new"))

    with store.open(filled, "a") as file:
        assert file.read() == b"new"


def test_an_object_that_is_too_big_is_not_there_at_all(store, filled):
    with pytest.raises(ObjectTooBigError):
        store.write(filled, "big", io.BytesIO(b"x" * 101), limit=100)

    assert store.write(filled, "fits", io.BytesIO(b"x" * 100), limit=100) == 100
    assert store.head(filled, "big") is None
    assert store.abort_uploads(filled) == BatchResult(deleted=())


def test_a_source_that_breaks_leaves_the_old_object(store, filled):
    class Breaking:
        def __init__(self) -> None:
            self.left = 3

        def read(self, size: int = -1, /) -> bytes:
            self.left -= 1
            if not self.left:
                raise ConnectionResetError
            return b"x" * 1000

    with pytest.raises((ConnectionResetError, StoreError)):
        store.write(filled, "a", Breaking())

    with store.open(filled, "a") as file:
        assert file.read() == b"content"


def test_a_moved_object_has_its_new_key_only(store, filled):
    store.write(filled, "staged/x", io.BytesIO(b"mine"))

    store.move(filled, "staged/x", "kept/x")

    assert store.head(filled, "staged/x") is None
    with store.open(filled, "kept/x") as file:
        assert file.read() == b"mine"


def test_a_bucket_without_versions_has_none_to_delete(store, filled):
    page = store.list_versions(filled)

    assert page.next is None
    assert all(version.version_id == "null" for version in page.versions)
    gone = ObjectVersion(key="a", version_id="null")
    assert store.delete_versions(filled, [gone]) == BatchResult(deleted=("a",))
    assert isinstance(page, VersionPage)
