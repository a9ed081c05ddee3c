"""A directory as a store: which keys it holds, and that nothing beside it can be reached."""

from __future__ import annotations

import io
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.objectstore import (
    BatchResult,
    BucketNotEmptyError,
    ErrorKind,
    FailedKey,
    InvalidKeyError,
    NoSuchBucketError,
    NoSuchObjectError,
    ObjectStore,
    StoreError,
    open_store,
)
from tests.forms import form
from tests.stores.immutable import immutable
from tests.stores.keys import ODD_KEYS, PATHS

NO_PATHS = (
    *(key for key in ODD_KEYS if key not in PATHS),
    *("", ".", "..", "/etc/passwd", "../../etc/passwd", "a/..", "nul\x00", "lone\ud800"),
    "/".join(["d" * 200] * 21),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "objects"


@pytest.fixture
def store(root: Path) -> ObjectStore:
    store = open_store(root.as_uri())
    store.create_bucket("b")
    return store


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Return a directory beside the store, with a file."""
    beside = tmp_path / "outside"
    beside.mkdir()
    (beside / "secret").write_text("mine")
    return beside


def write(store: ObjectStore, key: str, content: bytes = b"content") -> None:
    store.write("b", key, io.BytesIO(content))


def test_a_directory_that_is_not_there_says_nothing_of_its_buckets(tmp_path):
    store = open_store((tmp_path / "unmounted").as_uri())

    for ask in (
        lambda: store.list_page("b"),
        lambda: store.head("b", "a"),
        lambda: store.open("b", "a"),
        lambda: store.delete("b", "a"),
        lambda: store.delete_batch("b", ["a"]),
        lambda: store.drop_bucket("b"),
    ):
        with pytest.raises(StoreError, match="unmounted is not there") as refused:
            ask()
        assert refused.value.kind is ErrorKind.TRANSIENT


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_odd_keys_that_are_paths_are_kept_listed_and_deleted(store):
    for key in PATHS:
        write(store, key)

    listed = store.list_page("b").keys
    result = store.delete_batch("b", listed)

    assert sorted(listed) == sorted(PATHS)
    assert result == BatchResult(deleted=listed)
    store.drop_bucket("b")


def test_a_key_of_900_bytes_is_kept_in_parts_that_are_names(store):
    key = "/".join(["日" * 70] * 4)

    write(store, key)

    assert len(key.encode()) > 840
    assert store.delete_batch("b", store.list_page("b").keys).deleted == (key,)
    assert store.list_page("b").keys == ()


@pytest.mark.parametrize("key", NO_PATHS, ids=lambda key: repr(key)[:24])
def test_a_key_that_is_no_path_is_refused_and_never_brought_into_another_form(store, root, key):
    for asked in (
        lambda: write(store, key),
        lambda: store.head("b", key),
        lambda: store.open("b", key),
        lambda: store.delete("b", key),
        lambda: store.move("b", "a", key),
        lambda: store.move("b", key, "a"),
        lambda: store.sign_upload("b", key, seconds=60, size=1),
        lambda: store.check_key(key),
    ):
        with pytest.raises(InvalidKeyError):
            asked()

    (error,) = store.delete_batch("b", [key]).errors
    assert (error.key, error.code) == (key, "InvalidKey")
    assert [path for path in root.rglob("*") if path.is_file()] == []


def test_deleting_a_key_with_two_slashes_leaves_the_one_with_one(store):
    write(store, "a/b")

    result = store.delete_batch("b", ["a//b", "a/b/"])

    assert result.deleted == ()
    assert store.list_page("b").keys == ("a/b",)


def test_links_are_never_followed(store, root, outside):
    (root / "b" / "file").symlink_to(outside / "secret")
    (root / "b" / "folder").symlink_to(outside)

    assert store.list_page("b").keys == ("file", "folder")
    assert store.head("b", "file") is None
    assert store.head("b", "folder/secret") is None
    for key in ("file", "folder/secret", "folder"):
        with pytest.raises(NoSuchObjectError):
            store.open("b", key)
    with pytest.raises(StoreError):
        write(store, "folder/new")
    write(store, "file", b"an object of its own")
    assert store.delete_batch("b", ["folder/secret"]).deleted == ("folder/secret",)

    assert (outside / "secret").read_text() == "mine"
    assert names_in(outside) == ["secret"]


def test_a_link_is_deleted_as_itself(store, root, outside):
    (root / "b" / "folder").symlink_to(outside)
    (root / "b" / "dangling").symlink_to(outside / "nothing")

    result = store.delete_batch("b", store.list_page("b").keys)
    store.drop_bucket("b")

    assert result.errors == ()
    assert (outside / "secret").read_text() == "mine"


def test_a_link_in_place_of_a_bucket_is_no_bucket(store, root, outside):
    (root / "evil").symlink_to(outside)

    asked: list[Callable[[], object]] = [
        lambda: store.list_page("evil"),
        lambda: store.delete_batch("evil", ["secret"]),
        lambda: store.write("evil", "new", io.BytesIO(b"x")),
        lambda: store.drop_bucket("evil"),
    ]
    for ask in asked:
        with pytest.raises(StoreError):
            ask()

    assert (outside / "secret").read_text() == "mine"
    assert names_in(outside) == ["secret"]


def test_a_folder_swapped_for_a_link_again_and_again_leads_nowhere(store, root, outside):
    inside = root / "b" / "folder"
    write(store, "folder/other")  # or the folder would go as an empty one
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            inside.rename(root / "b" / "aside")
            inside.symlink_to(outside)
            inside.unlink()
            (root / "b" / "aside").rename(inside)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for _ in range(300):
            store.delete_batch("b", ["folder/secret"])
            store.list_page("b", prefix="folder/")
    finally:
        ended.set()
        swapping.join(timeout=10)

    assert (outside / "secret").read_text() == "mine"


def test_what_is_no_file_is_listed_and_deleted_and_never_opened(store, root):
    os.mkfifo(root / "b" / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(root / "b" / "door"))

    assert store.list_page("b").keys == ("door", "pipe")
    assert store.head("b", "pipe") is None
    for key in ("door", "pipe"):
        with pytest.raises(StoreError):
            store.open("b", key)
    assert store.delete_batch("b", ["door", "pipe"]).deleted == ("door", "pipe")


def test_a_name_that_is_no_utf8_is_listed_and_deleted(store, root):
    Path(os.fsdecode(os.fsencode(root / "b") + b"/caf\xe9.txt")).write_text("x")

    listed = store.list_page("b").keys
    result = store.delete_batch("b", listed)

    assert listed == ("caf\udce9.txt",)
    assert result == BatchResult(deleted=listed)


def test_one_file_that_cannot_go_is_told_and_the_others_go(store, root):
    for number in range(300):
        (root / "b" / f"k{number:03}").touch()

    with immutable(str(root / "b" / "k123")):
        result = store.delete_batch("b", store.list_page("b").keys)

    assert len(result.deleted) == 299
    (error,) = result.errors
    assert error == FailedKey(key="k123", code="AccessDenied", message="Operation not permitted")
    assert error.kind is ErrorKind.DENIED
    assert store.list_page("b").keys == ("k123",)
    with pytest.raises(BucketNotEmptyError):
        store.drop_bucket("b")


def test_folders_go_with_their_last_file_and_the_bucket_stays(store, root):
    write(store, "a/b/c")
    write(store, "a/d")

    store.delete("b", "a/b/c")
    assert names_in(root / "b" / "a") == ["d"]
    store.delete("b", "a/d")

    assert names_in(root / "b") == []
    assert names_in(root / ".uploads") == []


def test_folders_without_files_go_with_the_bucket(store, root):
    (root / "b" / "x" / "y" / "z").mkdir(parents=True)
    (root / "b" / "x" / "w").mkdir(parents=True)

    store.drop_bucket("b")

    assert not (root / "b").exists()


def test_a_deep_tree_is_listed_and_deleted(store, root):
    deep = os.open(root / "b", os.O_RDONLY)
    for _ in range(100):
        os.mkdir("d", dir_fd=deep)
        below = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)
    write(store, "/".join(["e"] * 100))

    assert store.list_page("b").keys == ("/".join(["e"] * 100),)
    store.delete_batch("b", store.list_page("b").keys)
    store.drop_bucket("b")

    assert not (root / "b").exists()


def test_an_object_and_a_folder_of_the_same_name_exclude_each_other(store):
    write(store, "a")

    with pytest.raises(StoreError):
        write(store, "a/b")
    write(store, "c/d")
    with pytest.raises(StoreError):
        write(store, "c")

    assert store.list_page("b").keys == ("a", "c/d")
    assert store.delete_batch("b", ["c"]).deleted == ("c",)  # no object has this key
    assert store.list_page("b").keys == ("a", "c/d")


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


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\x00"), min_size=1, max_size=8)
KEYS = st.lists(NAMES.filter(lambda name: name not in (".", "..")), min_size=1, max_size=3)


@given(paths=st.sets(KEYS.map("/".join), max_size=12), limit=st.integers(1, 5))
@settings(
    max_examples=form(short=20, full=200),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_pages_hold_every_key_once_in_the_order_of_bytes(tmp_path_factory, paths, limit):
    root = tmp_path_factory.mktemp("pages")
    store = open_store(root.as_uri())
    store.create_bucket("b")
    kept = {path for path in paths if not any(other.startswith(f"{path}/") for other in paths)}
    for key in kept:
        path = root / "b" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    seen: list[str] = []
    while not (page := store.list_page("b", after=seen[-1] if seen else "", limit=limit)).is_last:
        seen += page.keys
    seen += page.keys

    assert seen == sorted(kept, key=str.encode)
