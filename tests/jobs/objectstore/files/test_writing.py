"""Objects while they are written."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from jobs.objectstore import BucketNotEmptyError, NoSuchBucketError, ObjectStore, StoreError
from tests.jobs.objectstore.files.conftest import names_in, write


class Gated:
    """A source that stops after its first bytes until it is let go on."""

    def __init__(self) -> None:
        self.began, self.may_end = threading.Event(), threading.Event()
        self.chunks = [b"first", b"second", b""]

    def read(self, size: int = -1, /) -> bytes:
        if len(self.chunks) == 2:
            self.began.set()
            assert self.may_end.wait(timeout=20)
        return self.chunks.pop(0)


@pytest.fixture
def writing(store: ObjectStore) -> Iterator[tuple[Gated, Callable[[], BaseException | None]]]:
    """Return an upload of ``folder/key`` in its midst, and what lets it end."""
    source, errors = Gated(), list[BaseException]()

    def run() -> None:
        try:
            store.write("b", "folder/key", source)
        except StoreError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert source.began.wait(timeout=20)

    def end() -> BaseException | None:
        source.may_end.set()
        thread.join(timeout=20)
        return errors[0] if errors else None

    yield source, end
    end()


def test_an_object_is_not_seen_before_it_is_whole(store, writing):
    _source, end = writing

    assert store.list_page("b").keys == ()
    assert store.head("b", "folder/key") is None

    assert end() is None
    with store.open("b", "folder/key") as file:
        assert file.read() == b"firstsecond"


def test_a_pending_upload_is_aborted_by_its_prefix_and_leaves_nothing(store, root, writing):
    _source, end = writing

    assert store.abort_uploads("b", prefix="other").deleted == ()
    assert store.abort_uploads("b", prefix="folder/").deleted == ("folder/key",)
    error = end()

    assert isinstance(error, StoreError)
    assert error.code == "NoSuchUpload"
    assert store.list_page("b").keys == ()
    assert names_in(root / ".uploads") == []


def test_a_pending_upload_keeps_its_bucket(store, writing):
    _source, end = writing

    with pytest.raises(BucketNotEmptyError):
        store.drop_bucket("b")

    assert end() is None
    assert store.list_page("b").keys == ("folder/key",)


def test_an_upload_does_not_bring_back_a_bucket_that_was_removed(store, root, writing):
    _source, end = writing
    (root / "b").rmdir()

    error = end()

    assert isinstance(error, NoSuchBucketError)
    assert not (root / "b").exists()


def test_writers_and_deleters_of_one_folder_do_not_disturb_each_other(store):
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(20):
                key = f"folder/below/{number}-{turn}"
                write(store, key)
                assert store.head("b", key) is not None
                store.delete("b", key)
        except BaseException as error:  # noqa: BLE001 (told by the test)
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)

    assert errors == []
    assert store.list_page("b").keys == ()
