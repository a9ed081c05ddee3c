"""Times in the answers of a store."""

from __future__ import annotations

import datetime as dt

import pytest

from jobs.objectstore.s3.client import read_time

AT = dt.datetime(2026, 12, 2, 1, 2, 3, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-12-02T01:02:03Z", AT),
        ("2026-12-02T01:02:03.456Z", AT.replace(microsecond=456_000)),
        ("2026-12-02T02:02:03+01:00", AT),
        ("2026-12-02T01:02:03", AT),
        ("Wed, 02 Dec 2026 01:02:03 GMT", AT),
        (AT.timestamp(), AT),
    ],
    ids=["S3", "with milliseconds", "with a zone", "without one", "of a header", "a number"],
)
def test_every_form_of_a_time_is_read(text, expected):
    found = read_time(text)

    assert found == expected
    assert found.tzinfo is not None


def test_what_is_no_time_is_refused():
    with pytest.raises(ValueError, match="nine o'clock"):
        read_time("about the T nine o'clock")
