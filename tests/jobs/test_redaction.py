"""Secrets that are stored and printed nowhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.redaction import mask_secrets

PLAIN = st.text(alphabet=st.characters(codec="ascii", categories=("L", "N")), min_size=6)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgres://me:hunter2@db:5432/x", "postgres://me:****@db:5432/x"),
        ("smtp+tls://me:hunter2@mx.example.com", "smtp+tls://me:****@mx.example.com"),
        ("redis://:hunter2@cache", "redis://:****@cache"),
        ("Authorization: Bearer hunter2", "Authorization: Bearer ****"),
        ("authorization: hunter2", "authorization: ****"),
        ("{'Authorization': 'Basic aHVudGVyMg=='}", "{'Authorization': 'Basic ****'}"),
        ('"proxy-authorization": "hunter2"', '"proxy-authorization": "****"'),
        ("AUTH PLAIN aHVudGVyMg==", "AUTH PLAIN ****"),
        ("password=hunter2 host=db", "password=**** host=db"),
        ("?token=hunter2&page=2", "?token=****&page=2"),
        ('{"api_key": "hunter2"}', '{"api_key": "****"}'),
    ],
)
def test_secrets_are_masked_and_what_is_around_them_is_kept(text, masked):
    assert mask_secrets(text) == masked


@pytest.mark.parametrize(
    "text",
    ["", "https://example.com/a?b=c", "me@example.com: mailbox full", "to: a@example.com"],
)
def test_what_holds_no_secret_stays_as_it_is(text):
    assert mask_secrets(text) == text


def test_a_long_text_without_a_secret_takes_no_long_time():
    assert mask_secrets("a://" * 20_000 + "b" * 20_000)


@given(user=PLAIN, secret=PLAIN)
def test_the_password_of_a_url_never_stays(user, secret):
    masked = mask_secrets(f"cannot reach https://{user}:{secret}@example.com/ today")

    assert masked == f"cannot reach https://{user}:****@example.com/ today"
    assert mask_secrets(masked) == masked
