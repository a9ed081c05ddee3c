"""A server that speaks S3: odd keys, versions, uploads, and its errors."""

from __future__ import annotations

import io
import signal

import pytest

from jobs.objectstore import (
    BatchResult,
    ErrorKind,
    InvalidKeyError,
    NoSuchBucketError,
    StoreError,
    VersionCursor,
    open_store,
)
from tests.conftest import wait_until
from tests.forms import FULL
from tests.stores.immutable import immutable
from tests.stores.keys import ODD_KEYS
from tests.stores.putting import put
from tests.stores.scripted import Answer, Asked, ScriptedStore, error

DELETED = "<DeleteResult>{}</DeleteResult>"
GONE = "<Deleted><Key>{}</Key></Deleted>"
KEPT = "<Error><Key>{}</Key><Code>{}</Code><Message>no</Message></Error>"

# boto3 asks twice, and waits up to a second before.
IN_FULL = pytest.mark.skipif(not FULL, reason="as the other: with ENGINEROOM_FULL=1")


@pytest.fixture
def made(swift_store, bucket):
    """Return a bucket on Swift."""
    swift_store.create_bucket(bucket)
    return bucket


def write(store, bucket, *keys):
    for key in keys:
        store.write(bucket, key, io.BytesIO(b"content"))


@pytest.mark.stores
def test_odd_keys_are_listed_and_deleted_as_they_are(swift_store, made):
    write(swift_store, made, *ODD_KEYS)

    listed = swift_store.list_page(made).keys
    result = swift_store.delete_batch(made, listed)

    assert sorted(listed) == sorted(ODD_KEYS)
    assert sorted(result.deleted) == sorted(ODD_KEYS)
    assert result.errors == ()
    assert swift_store.list_page(made).keys == ()
    swift_store.drop_bucket(made)


@pytest.mark.stores
@pytest.mark.skipif(not FULL, reason="as much as the test before it: with ENGINEROOM_FULL=1")
def test_odd_keys_go_one_by_one_too(swift_store, made):
    write(swift_store, made, *ODD_KEYS)

    for key in ODD_KEYS:
        swift_store.delete(made, key)

    assert swift_store.list_page(made).keys == ()


@pytest.mark.stores
def test_pages_go_on_after_an_odd_key(swift_store, made):
    write(swift_store, made, *ODD_KEYS)

    seen, after = [], ""
    while True:
        page = swift_store.list_page(made, after=after, limit=3)
        seen += page.keys
        if page.is_last:
            break
        after = page.keys[-1]

    assert seen == sorted(ODD_KEYS, key=str.encode)


@pytest.mark.stores
def test_versions_and_marks_of_deletion_are_listed_by_pages_and_deleted_for_good(
    swift, swift_store, made
):
    swift.client.put_bucket_versioning(Bucket=made, VersioningConfiguration={"Status": "Enabled"})
    # The control character comes first, never between two pages: Swift cannot write it there.
    keys = ("\x01b", "a//b", "trail/", "日本")
    write(swift_store, made, *keys)
    write(swift_store, made, *keys)
    swift_store.delete_batch(made, keys)
    assert swift_store.list_page(made).keys == ()

    found, after = [], None
    while True:
        page = swift_store.list_versions(made, limit=4, after=after)
        found += page.versions
        after = page.next
        if after is None:
            break
        assert isinstance(after, VersionCursor)
    result = swift_store.delete_versions(made, found)

    assert len(found) == 3 * len(keys)
    assert len(set(found)) == len(found)
    assert sum(version.is_marker for version in found) == len(keys)
    assert sorted(result.deleted) == sorted(keys * 3)
    assert swift_store.list_versions(made).versions == ()
    swift_store.drop_bucket(made)


@pytest.mark.stores
def test_pending_uploads_are_aborted_by_prefix(swift, swift_store, made):
    # No control character: Swift itself fails to write it into its answer.
    keys = ["a//b", "日本/1", "日本/2", "a\tb"]
    for key in keys:
        swift.client.create_multipart_upload(Bucket=made, Key=key)

    some = swift_store.abort_uploads(made, prefix="日本/")
    others = swift_store.abort_uploads(made)

    assert some == BatchResult(deleted=("日本/1", "日本/2"))
    assert sorted(others.deleted) == ["a\tb", "a//b"]
    assert swift_store.abort_uploads(made).deleted == ()


@pytest.mark.stores
@pytest.mark.skipif(not FULL, reason="a thousand requests: with ENGINEROOM_FULL=1")
def test_more_keys_than_a_batch_may_have_go_one_by_one(rclone_store, bucket):
    rclone_store.create_bucket(bucket)
    write(rclone_store, bucket, "a", "b")
    keys = ["a", "b", *(f"none/{number}" for number in range(999))]

    result = rclone_store.delete_batch(bucket, keys)

    assert result.errors == ()
    assert set(result.deleted) == set(keys)
    assert rclone_store.list_page(bucket).keys == ()


@pytest.mark.stores
def test_one_object_that_cannot_go_is_told_in_an_answer_that_says_200(swift, swift_store, made):
    write(swift_store, made, *(f"k{number}" for number in range(5)))
    content = f"stuck in {made}".encode()
    swift_store.write(made, "stuck", io.BytesIO(content))

    with immutable(str(swift.place_of(content))):
        result = swift_store.delete_batch(made, swift_store.list_page(made).keys)

        assert sorted(result.deleted) == ["k0", "k1", "k2", "k3", "k4"]
        assert [error.key for error in result.errors] == ["stuck"]
        assert result.errors[0].kind is ErrorKind.TRANSIENT

    assert swift_store.delete_batch(made, ["stuck"]) == BatchResult(deleted=("stuck",))


@pytest.mark.stores
def test_an_answer_full_of_errors_confirms_nothing(swift, swift_store, made):
    keys = ("a", "b", "c\x01")
    write(swift_store, made, *keys)
    server = swift.servers["object"]

    server.kill()
    try:
        result = swift_store.delete_batch(made, keys)
    finally:
        server.start()

    assert result.deleted == ()
    assert sorted(error.key for error in result.errors) == sorted(keys)
    assert {error.kind for error in result.errors} == {ErrorKind.TRANSIENT}
    assert wait_until(lambda: swift_store.delete_batch(made, keys).deleted)


@pytest.mark.stores
def test_a_store_that_is_down_is_a_transient_error(rclone, rclone_store, bucket):
    rclone_store.create_bucket(bucket)
    rclone.server.kill()
    try:
        for ask in (
            lambda: rclone_store.list_page(bucket),
            lambda: rclone_store.delete_batch(bucket, ["a"]),
            lambda: rclone_store.head(bucket, "a"),
            lambda: write(rclone_store, bucket, "a"),
        ):
            with pytest.raises(StoreError) as refused:
                ask()
            assert refused.value.kind is ErrorKind.TRANSIENT
            assert refused.value.code == "Unreachable"
            assert "rclonesecret" not in str(refused.value)
    finally:
        rclone.server.start()


@pytest.mark.stores
def test_a_server_that_stands_still_for_a_while_is_waited_for(rclone, rclone_store, bucket):
    rclone_store.create_bucket(bucket)
    rclone.server.send(signal.SIGSTOP)
    rclone.server.send(signal.SIGCONT)

    assert rclone_store.list_page(bucket).keys == ()


@pytest.mark.stores
def test_wrong_credentials_are_denied_and_not_shown(rclone, bucket):
    store = open_store(rclone.endpoint.replace("rclonesecret", "anothersecret"))

    with pytest.raises(StoreError) as refused:
        store.list_page(bucket)

    assert refused.value.kind is ErrorKind.DENIED
    assert "anothersecret" not in str(refused.value)


@pytest.mark.stores
@pytest.mark.parametrize("server", ["swift", "rclone"])
def test_a_signed_upload_takes_these_bytes_for_this_key_only(request, server, bucket):
    store = request.getfixturevalue(f"{server}_store")
    store.create_bucket(bucket)
    key = "staged/日本 +%41.txt"
    signed = store.sign_upload(bucket, key, seconds=60, size=5, content_type="text/plain")

    elsewhere = signed.url.replace("/staged/", "/other/")
    put(signed, b"hello")
    refused = [put(signed, b"longer than agreed"), put(signed, b"hello", url=elsewhere)]

    with store.open(bucket, key) as file:
        assert file.read() == b"hello"
    assert refused == [403, 403]
    assert store.list_page(bucket).keys == (key,)


@pytest.mark.stores
def test_a_signed_upload_ends_with_its_time(swift_store, made):
    signed = swift_store.sign_upload(made, "key", seconds=1, size=5)

    assert wait_until(lambda: put(signed, b"hello") == 403)


def test_a_key_that_is_none_is_refused_without_asking():
    store = open_store("s3://somekey:somesecret@127.0.0.1:9/?secure=off")

    for key in ("", "n" * 1025, "lone\ud800"):
        with pytest.raises(InvalidKeyError):
            store.check_key(key)
        with pytest.raises(InvalidKeyError):
            store.write("bucket", key, io.BytesIO(b""))


def test_an_older_server_that_wants_another_checksum_gets_its_keys_one_by_one():
    def answer(asked: Asked) -> Answer:
        if asked.method == "POST":
            return error("MissingContentMD5", status=400)
        return error("NoSuchKey", status=404) if asked.path.endswith("b") else Answer(status=204)

    with ScriptedStore(answer) as server:
        result = open_store(server.endpoint).delete_batch("bucket", ["a", "b"])

        assert result == BatchResult(deleted=("a", "b"))
        assert [asked.method for asked in server.asked] == ["POST", "DELETE", "DELETE"]


def test_only_keys_that_the_answer_names_are_confirmed():
    def answer(asked: Asked) -> Answer:
        if asked.method == "DELETE":
            return error("AccessDenied", status=403)
        body = GONE.format("a") + GONE.format("a") + GONE.format("never asked for")
        return Answer(body=DELETED.format(body + KEPT.format("gone", "NoSuchKey")))

    with ScriptedStore(answer) as server:
        result = open_store(server.endpoint).delete_batch("bucket", ["a", "gone", "silent"])

    assert result.deleted == ("a", "gone")
    assert [(failed.key, failed.code) for failed in result.errors] == [("silent", "AccessDenied")]


def test_a_lock_is_recorded_key_by_key():
    def answer(_asked: Asked) -> Answer:
        return Answer(body=DELETED.format(GONE.format("a") + KEPT.format("b", "AccessDenied")))

    with ScriptedStore(answer) as server:
        result = open_store(server.endpoint).delete_batch("bucket", ["a", "b"])

    assert result.deleted == ("a",)
    assert result.errors[0].kind is ErrorKind.DENIED


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (error("SlowDown", status=503), ErrorKind.TRANSIENT),
        (error("InternalError", status=200), ErrorKind.TRANSIENT),
        (Answer(status=502, body="<html>Bad gateway</html>"), ErrorKind.TRANSIENT),
        (Answer(status=200, body="<html><p>Bad gateway"), ErrorKind.TRANSIENT),
        (error("AccessDenied", status=403), ErrorKind.DENIED),
        (error("NoSuchBucket", status=404), ErrorKind.NO_BUCKET),
        (error("NoSuchWord", status=400), ErrorKind.OTHER),
    ],
    ids=["slow", "error in 200", "proxy", "no xml", "denied", "no bucket", "other"],
)
@pytest.mark.parametrize(
    "ask",
    [
        lambda store: store.list_page("bucket"),
        pytest.param(lambda store: store.delete_batch("bucket", ["a"]), marks=IN_FULL),
    ],
    ids=["list", "batch"],
)
def test_errors_of_a_listing_and_of_a_whole_batch_are_raised(answer, kind, ask):
    with ScriptedStore(lambda _asked: answer) as server:
        store = open_store(server.endpoint)
        with pytest.raises(StoreError) as refused:
            ask(store)

    assert refused.value.kind is kind, refused.value


def test_a_bucket_that_vanishes_between_single_deletions_is_told():
    def answer(asked: Asked) -> Answer:
        code = "MalformedXML" if asked.method == "POST" else "NoSuchBucket"
        return error(code, status=400)

    with ScriptedStore(answer) as server, pytest.raises(NoSuchBucketError):
        open_store(server.endpoint).delete_batch("bucket", ["a", "b"])


def test_after_one_key_without_an_answer_the_others_are_not_tried():
    def answer(_asked: Asked) -> Answer:
        return error("SlowDown", status=503)

    with ScriptedStore(answer) as server:
        result = open_store(server.endpoint).delete_batch("bucket", ["\x01", "\x02", "\x03"])

        assert {asked.path for asked in server.asked} == {"/bucket/%01"}
    assert [failed.key for failed in result.errors] == ["\x01", "\x02", "\x03"]
    assert {failed.kind for failed in result.errors} == {ErrorKind.TRANSIENT}


def test_a_server_without_versions_has_none():
    with ScriptedStore(lambda _asked: error("NotImplemented", status=501)) as server:
        store = open_store(server.endpoint)

        assert store.list_versions("bucket").versions == ()
        assert store.abort_uploads("bucket").deleted == ()


def test_somebody_else_s_bucket_is_not_taken_for_one_s_own():
    def answer(asked: Asked) -> Answer:
        if asked.method == "PUT":
            return error("BucketAlreadyExists", status=409)
        return Answer(status=403)

    with ScriptedStore(answer) as server, pytest.raises(StoreError) as refused:
        open_store(server.endpoint).create_bucket("bucket")

    assert refused.value.kind is ErrorKind.DENIED


def test_an_object_that_breaks_off_is_an_error_and_not_a_short_one():
    def answer(_asked: Asked) -> Answer:
        return Answer(body="only the beginning", claimed_bytes=1000)

    with ScriptedStore(answer) as server:
        file = open_store(server.endpoint).open("bucket", "key")
        with pytest.raises(StoreError) as refused:
            file.read()
        file.close()

    assert refused.value.kind is ErrorKind.TRANSIENT
