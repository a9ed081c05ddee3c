"""Folders come and go with their files."""

from __future__ import annotations

import os

import pytest

from jobs.objectstore import BucketNotEmptyError, ErrorKind, FailedKey, StoreError
from tests.jobs.objectstore.files.conftest import names_in, write
from tests.stores.immutable import immutable


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
