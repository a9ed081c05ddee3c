"""The last look before each request."""

from __future__ import annotations

import pytest

from jobs.objectstore import guarded, open_store
from tests.stores.scripted import Answer, ScriptedStore, error


class LeaseLostError(Exception):
    """What the guards of these tests raise."""


def refuse():
    raise LeaseLostError


def test_a_guard_that_raises_lets_no_request_out_and_is_not_asked_twice():
    asked = []

    def look():
        asked.append(1)
        raise LeaseLostError

    with ScriptedStore(lambda _asked: Answer()) as server:
        store = open_store(server.endpoint)
        with pytest.raises(LeaseLostError), guarded(look):
            store.delete_batch("bucket", ["a"])

        assert server.asked == []
        assert len(asked) == 1


def test_a_batch_that_goes_one_by_one_is_stopped_between_two_of_them():
    def answer(asked):
        if asked.method == "POST":
            return error("MissingContentMD5", status=400)
        return Answer(status=204)

    with ScriptedStore(answer) as server:
        store = open_store(server.endpoint)

        def look():
            if len(server.asked) >= 3:
                raise LeaseLostError

        with pytest.raises(LeaseLostError), guarded(look):
            store.delete_batch("bucket", ["a", "b", "c", "d"])

        assert [asked.method for asked in server.asked] == ["POST", "DELETE", "DELETE"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda store: store.list_page("bucket"),
        lambda store: store.delete_batch("bucket", ["a"]),
        lambda store: store.drop_bucket("bucket"),
    ],
    ids=["list", "delete", "drop"],
)
def test_a_directory_is_guarded_too(ask, tmp_path):
    (tmp_path / "bucket").mkdir()
    (tmp_path / "bucket" / "a").write_bytes(b"x")
    store = open_store(tmp_path.as_uri())

    with pytest.raises(LeaseLostError), guarded(refuse):
        ask(store)

    assert (tmp_path / "bucket" / "a").exists()
    assert store.list_page("bucket").keys == ("a",)
