"""Keys that are paths, and those that are none."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.objectstore import BatchResult, ErrorKind, InvalidKeyError, StoreError, open_store
from tests.forms import form
from tests.jobs.objectstore.files.conftest import write
from tests.stores.keys import ODD_KEYS, PATHS

NO_PATHS = (
    *(key for key in ODD_KEYS if key not in PATHS),
    *("", ".", "..", "/etc/passwd", "../../etc/passwd", "a/..", "nul\x00", "lone\ud800"),
    "/".join(["d" * 200] * 21),
)


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
