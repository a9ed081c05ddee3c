"""Links, and what else is no file."""

from __future__ import annotations

import io
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.objectstore import BatchResult, NoSuchObjectError, StoreError
from tests.jobs.objectstore.files.conftest import names_in, write


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Return a directory beside the store, with a file."""
    beside = tmp_path / "outside"
    beside.mkdir()
    (beside / "secret").write_text("mine")
    return beside


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
