"""The environment: what is read, and how a wrong value is refused."""

from __future__ import annotations

import runpy

import pytest

import deletions.conf
import emails.conf
import jobs.conf
import realtime.conf
import retention.conf
from jobs.conf import Address, Setting, StoreUrl, Switch, WebUrl, Whole, Wholes
from jobs.errors import MissingSettingError, SettingError
from project import env

NOT_WHOLE = ["x", "1.5", "1_000", "1e3", "٣", "0x10", "--1", "9" * 30, "1 2"]
NOT_A_SWITCH = ["yes", "ON", "true", "1", "on off"]
NOT_AN_ADDRESS = ["x", "x:70000", "x:-1", ":80", "[::1", "[::1]", "::1:80", "[nonsense]:80", "x:y"]
# Their paths may be secrets, so they are shown as their scheme only.
NOT_A_WEB_URL = ["hook", "ftp://h/x", "https://", "https://h:0/x", "https://h:x/y", "http://[::1/x"]
# Any part of one may be a secret that was not escaped.
NOT_A_STORE = [
    *("/srv/objects", "file://", "file:///", "file://host/dir", "file:///dir?x=1"),
    *("http://store.example/", "s3://store.example/bucket", "s3://KEY@store.example/"),
    *("s3://KEY:secret@store.example/bucket", "s3://KEY:secret/x@store.example/"),
    *("s3://store.example:99999/", "s3://store.example/?secure=maybe", "s3://[::1/"),
]
NOT_POSTGRES = [
    "garbage",
    "mysql://u:p@h/x",
    "postgres://h:99999/x",
    "postgres://h:x/y",
    "postgres://h:0/y",
    "postgres://h/",
    "postgres:///?host=/tmp",
    "postgres://[::1/x",
]
BAD_TEXTS = {
    "DATABASE_URL": NOT_POSTGRES,
    "DIRECT_DATABASE_URL": NOT_POSTGRES,
    "DEBUG": NOT_A_SWITCH,
    "PUBLIC_URL": [
        "ftp://example.com",
        "example.com",
        "https://",
        "https://example.com/shop",
        "https://example.com/?a",
        "https://example.com/#a",
        "https://example.com:0",
        "https://example.com:x",
        "https://me:secret@example.com",
        "http://[::1",
    ],
    "EMAIL_DELIVERY_URL": [
        "mail.example.com",
        "http://example.com",
        "smtp://",
        "smtp://h:0",
        "smtp://h:x",
        "smtp://user@h",
        "smtp://h/path",
        "smtp://h?verify=maybe",
        "smtp://h?other=1",
        "smtps://h?ca=/does/not/exist",
        "file:relative",
        "file:///",
        "console:x",
    ],
}

# What this site keeps in its own directory.
SITE_DEFAULTS = {"OBJECT_STORE_URL": (env.var_directory() / "objects").as_uri()}


def bad_texts(setting: Setting) -> list[str]:
    match setting:
        case Whole(minimum=least, maximum=most):
            return [str(least - 1), str(most + 1), *NOT_WHOLE]
        case Wholes(minimum=least, maximum=most):
            return [str(least - 1), f"{most},{most + 1}", ",", "1,", "1,,2", *NOT_WHOLE]
        case Switch():
            return NOT_A_SWITCH
        case Address():
            return NOT_AN_ADDRESS
        case WebUrl():
            return NOT_A_WEB_URL
        case StoreUrl():
            return NOT_A_STORE
    raise AssertionError(f"no bad values are known for {setting}")


OTHERS = (*deletions.conf.SETTINGS, *realtime.conf.SETTINGS, *retention.conf.SETTINGS)
SETTINGS = (
    *(*jobs.conf.SETTINGS, *emails.conf.SETTINGS),
    *(setting for setting in OTHERS if isinstance(setting, Whole)),
)
# The one is bound to a third of the other.
TOGETHER = ("REALTIME_LEASE_MS", "REALTIME_HEARTBEAT_MS")
CASES = [
    *((name, text) for name, texts in BAD_TEXTS.items() for text in texts),
    *((setting.name, text) for setting in SETTINGS for text in bad_texts(setting)),
]


def read_settings():
    """Read the site's settings anew from the environment."""
    return runpy.run_path(str(env.BASE_DIR / "project" / "settings.py"))


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://me@db.example.com/shop")
    monkeypatch.setenv("SECRET_KEY", "only-for-tests")
    for setting in SETTINGS:
        monkeypatch.delenv(setting.name, raising=False)


@pytest.mark.parametrize(("name", "text"), CASES)
def test_a_wrong_value_is_refused_on_one_line_with_name_value_and_what_is_allowed(
    name, text, monkeypatch
):
    monkeypatch.setenv(name, text)

    with pytest.raises(SettingError) as refused:
        read_settings()

    line = str(refused.value)
    assert line.startswith(f"{name}=")
    assert "is not allowed: " in line
    assert "\n" not in line
    assert "secret" not in line
    assert text in line or "***" in line or "…" in line


def test_a_value_of_several_lines_is_refused_on_one(monkeypatch):
    monkeypatch.setenv("WORKER_CLAIM_STALE_MS", "1000\nDEBUG=on")

    with pytest.raises(SettingError) as refused:
        read_settings()

    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["DATABASE_URL", "DIRECT_DATABASE_URL", "EMAIL_DELIVERY_URL"])
def test_the_password_of_a_refused_url_is_not_shown(name, monkeypatch):
    monkeypatch.setenv(name, "nonsense://me:hunter2@h:99999/x")

    with pytest.raises(SettingError) as refused:
        read_settings()

    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_is_read_and_an_empty_one_is_its_default(setting, monkeypatch):
    monkeypatch.setenv(setting.name, "")

    expected = SITE_DEFAULTS.get(setting.name, setting.default)
    assert read_settings()[setting.name] == expected


@pytest.mark.parametrize(
    "setting",
    [s for s in SETTINGS if isinstance(s, Whole) and s.name not in TOGETHER],
    ids=lambda setting: setting.name,
)
def test_the_ends_of_a_range_are_allowed(setting, monkeypatch):
    for value in (setting.minimum, setting.maximum):
        monkeypatch.setenv(setting.name, str(value))
        assert read_settings()[setting.name] == value


def test_a_secret_key_that_begins_with_a_dollar_is_taken_as_it_is(monkeypatch):
    monkeypatch.setenv("HOME_OF_NOTHING", "another value")
    monkeypatch.setenv("SECRET_KEY", "$HOME_OF_NOTHING")

    assert read_settings()["SECRET_KEY"] == "$HOME_OF_NOTHING"


def test_a_secret_key_is_required_with_a_database_of_ones_own(monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "")

    with pytest.raises(MissingSettingError, match="SECRET_KEY is not set"):
        read_settings()


def test_the_url_of_a_socket_with_a_passfile_reaches_the_driver_decoded(monkeypatch):
    url = "postgresql://me@/na%20me?host=/run/a%20b/%C3%A9&port=5433&passfile=/x/p%25q"
    monkeypatch.setenv("DATABASE_URL", url)

    entry = env.database("DATABASE_URL")

    assert entry["NAME"] == "na me"
    assert entry["USER"] == "me"
    assert entry["HOST"] == ""
    assert entry["OPTIONS"] == {"host": "/run/a b/é", "port": 5433, "passfile": "/x/p%q"}


def test_a_password_with_special_characters_is_decoded(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://me:p%40%2F%3A%25@h:5/shop?sslmode=require")

    entry = env.database("DATABASE_URL")

    assert (entry["PASSWORD"], entry["HOST"], entry["PORT"]) == ("p@/:%", "h", 5)
    assert entry["OPTIONS"] == {"sslmode": "require"}


def test_an_https_site_has_secure_cookies_and_its_host_is_allowed(monkeypatch):
    monkeypatch.setenv("PUBLIC_URL", "https://shop.example.com/")

    read = read_settings()

    assert read["PUBLIC_URL"] == "https://shop.example.com"
    assert read["SESSION_COOKIE_SECURE"]
    assert read["SECURE_SSL_REDIRECT"]
    assert "shop.example.com" in read["ALLOWED_HOSTS"]


def test_mail_stays_queued_with_a_database_of_ones_own_until_a_delivery_is_configured():
    assert read_settings()["EMAIL_DELIVERY_URL"] == ""


def test_lists_are_without_empty_items(monkeypatch):
    monkeypatch.setenv("ALLOWED_HOSTS", " a.example.com, ,b.example.com,")

    assert env.names("ALLOWED_HOSTS") == ["a.example.com", "b.example.com"]
