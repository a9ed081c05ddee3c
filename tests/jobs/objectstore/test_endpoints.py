from __future__ import annotations

import subprocess
import sys
from urllib.parse import quote

import pytest
from django.core import checks
from hypothesis import given
from hypothesis import strategies as st

from jobs.conf import OBJECT_STORE_URL
from jobs.errors import SettingError
from jobs.objectstore import open_store, public_endpoint, stored_endpoint
from jobs.objectstore.endpoints import S3Endpoint, parse_endpoint
from jobs.objectstore.errors import EndpointError

WITH_SECRETS = "s3://AKIAKEY:wJalr%2Fsecret@store.example:9000/?region=eu-west-1&secure=off"


def test_an_s3_endpoint_is_read_with_its_escapes():
    endpoint = parse_endpoint(WITH_SECRETS)

    assert endpoint == S3Endpoint(
        host="store.example:9000",
        region="eu-west-1",
        secure=False,
        key="AKIAKEY",
        secret="wJalr/secret",
    )
    assert endpoint.url == "http://store.example:9000"


def test_an_endpoint_without_host_is_that_of_aws():
    endpoint = parse_endpoint("s3:///?region=eu-central-1")

    assert isinstance(endpoint, S3Endpoint)
    assert endpoint.url is None
    assert endpoint.is_aws


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/srv/objects",
        "file://",
        "file:///",
        "file://host/dir",
        "file:///dir?x=1",
        "http://store.example/",
        "s3://store.example/bucket",
        "s3://KEY@store.example/",
        "s3://:secret@store.example/",
        "s3://KEY:secret@/",
        "s3://store.example:99999/",
        "s3://store.example/?secure=maybe",
        "s3://store.example/?regoin=eu-west-1",
        "s3://store.example/?region=a&region=b",
        "s3://[::1/",
    ],
)
def test_what_leads_to_no_store_is_refused(url):
    with pytest.raises(EndpointError):
        parse_endpoint(url)


@pytest.mark.parametrize(
    "url",
    [
        "s3://KEY:tops3cret@store.example/bucket",
        "s3://KEY:tops3cret@store.example/?secure=maybe",
        "s3://KEY:tops3cret/@store.example/",
        "s3://KEY:123/tops3cret@store.example/",
        "s3://KEY:tops3cret?x@store.example/",
        "s3://KEY:tops3cret#x@store.example/",
        "s3://KEY:tops3cret@store.example:99999/",
        "http://KEY:tops3cret@store.example/",
        "KEY:tops3cret@store.example",
    ],
)
def test_a_refused_endpoint_shows_no_secret(url):
    with pytest.raises(SettingError) as refused:
        OBJECT_STORE_URL.parse(url)

    assert "tops3cret" not in str(refused.value)
    assert refused.value.__cause__ is None


SECRETS = st.text(st.characters(codec="ascii", exclude_characters="/?#@[]\\"), min_size=8)


@given(key=st.from_regex(r"[A-Z]{16}", fullmatch=True), secret=SECRETS)
def test_no_secret_is_in_what_is_stored_or_shown(key, secret):
    url = f"s3://{key}:{quote(secret, safe='')}@store.example/"

    assert parse_endpoint(url).secret == secret
    assert key not in public_endpoint(url)
    assert public_endpoint(url) == public_endpoint("s3://store.example/")
    assert secret not in repr(parse_endpoint(url))


@pytest.mark.parametrize(
    ("url", "spelling"),
    [
        (WITH_SECRETS, "s3://store.example:9000/?region=eu-west-1&secure=off"),
        ("s3://STORE.example?secure=on", "s3://store.example/"),
        ("s3://", "s3:///"),
        ("file:///srv/ob%20jects/", "file:///srv/ob%20jects"),
    ],
)
def test_the_public_form_has_one_spelling_and_leads_to_the_same_store(url, spelling):
    public = public_endpoint(url)

    assert public == spelling
    assert public_endpoint(public) == public


def test_an_endpoint_from_a_row_uses_the_configured_credentials(settings):
    settings.OBJECT_STORE_URL = WITH_SECRETS

    store = open_store(stored_endpoint())

    assert store is open_store()
    assert "AKIAKEY" not in repr(store)
    assert "secret" not in repr(store)
    assert "secret" not in store.endpoint


def test_another_endpoint_does_not_get_the_configured_credentials(settings):
    settings.OBJECT_STORE_URL = WITH_SECRETS

    other = open_store("s3://elsewhere.example/")

    assert other is not open_store()
    assert other.endpoint == "s3://elsewhere.example/"


def test_the_site_s_store_is_a_directory_until_it_is_told_otherwise(settings):
    assert settings.OBJECT_STORE_URL.startswith("file:///")
    assert settings.OBJECT_STORE_URL.endswith("/objects")


def test_a_wrong_endpoint_in_the_settings_is_an_error_of_the_checks(settings):
    settings.OBJECT_STORE_URL = "s3://KEY:tops3cret@store.example/bucket"

    found = [message for message in checks.run_checks() if message.id == "jobs.E008"]

    assert len(found) == 1
    assert "OBJECT_STORE_URL=s3://…@store.example" in found[0].msg
    assert "tops3cret" not in found[0].msg


def test_boto3_is_not_imported_for_a_directory():
    code = (
        "import sys; from django.conf import settings; settings.configure();"
        "from jobs.objectstore import open_store; open_store('file:///tmp/x');"
        "sys.exit('boto3' in sys.modules)"
    )

    ended = subprocess.run([sys.executable, "-c", code], check=False, timeout=30)

    assert ended.returncode == 0


def test_without_boto3_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['boto3'] = None;"
        "from django.conf import settings; settings.configure();"
        "from jobs.objectstore import open_store; open_store('s3://store.example/')"
    )

    ended = subprocess.run(
        [sys.executable, "-c", code], check=False, timeout=30, capture_output=True, text=True
    )

    assert "an s3:// object store needs the package boto3" in ended.stderr
    assert "engineroom[s3]" in ended.stderr
