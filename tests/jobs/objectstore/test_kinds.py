from __future__ import annotations

import pytest

from jobs.objectstore import ErrorKind, FailedKey, StoreError
from jobs.objectstore.kinds import kind_of


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("SlowDown", 503, ErrorKind.TRANSIENT),
        ("ServiceUnavailable", None, ErrorKind.TRANSIENT),
        ("InternalError", 200, ErrorKind.TRANSIENT),
        ("502", None, ErrorKind.TRANSIENT),
        ("SomethingNew", 500, ErrorKind.TRANSIENT),
        ("429", None, ErrorKind.TRANSIENT),
        ("NotImplemented", 501, ErrorKind.BATCH_REFUSED),
        ("501", None, ErrorKind.OTHER),
        ("AccessDenied", 403, ErrorKind.DENIED),
        ("SomethingNew", 403, ErrorKind.DENIED),
        ("NoSuchKey", 404, ErrorKind.GONE),
        ("NoSuchVersion", None, ErrorKind.GONE),
        ("NoSuchBucket", 404, ErrorKind.NO_BUCKET),
        ("MalformedXML", 400, ErrorKind.BATCH_REFUSED),
        ("MissingContentMD5", 400, ErrorKind.BATCH_REFUSED),
        ("InvalidRequest", 400, ErrorKind.BATCH_REFUSED),
        ("SomethingNew", 400, ErrorKind.OTHER),
        ("\u0665\u0660\u0660", None, ErrorKind.OTHER),
        ("", None, ErrorKind.OTHER),
    ],
)
def test_a_code_says_what_to_do(code, status, kind):
    assert kind_of(code, status=status) is kind


def test_keys_and_errors_are_told_apart_in_the_same_way():
    assert FailedKey(key="k", code="SlowDown").kind is StoreError("x", code="SlowDown").kind
