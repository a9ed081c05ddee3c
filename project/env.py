"""
The environment, read once.

Every wrong value is a ``SettingError``: one line that names the variable, the value and
what is allowed, exit code 2, nothing coerced.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

import environ

from jobs.conf import Setting, Switch, split_address
from jobs.errors import MissingSettingError, SettingError
from jobs.redaction import mask_secrets

T = TypeVar("T")
BASE_DIR: Path = Path(__file__).resolve().parent.parent
POSTGRES_SCHEMES = ("postgres", "postgresql")
environment = environ.Env()


def read(setting: Setting[T]) -> T:
    """Return a setting from the environment, checked, or its default."""
    value = _raw(setting.name)
    return setting.default if value == "" else setting.parse(value)


def text(name: str) -> str:
    """Return a variable as text, stripped; empty when it is not set."""
    return _raw(name).strip()


def names(name: str, *, default: str = "") -> list[str]:
    """Return a comma-separated variable as a list without empty items."""
    return [item.strip() for item in (text(name) or default).split(",") if item.strip()]


def switch(name: str, *, default: bool) -> bool:
    """Return a variable that is ``on`` or ``off``."""
    return read(Switch(name=name, default=default))


def var_directory() -> Path:
    """Return the directory of what this checkout keeps: server, mail, keys."""
    return Path(text("ENGINEROOM_VAR") or BASE_DIR / "var").absolute()


def uses_embedded_server() -> bool:
    """Say whether this checkout runs its own PostgreSQL."""
    return not text("DATABASE_URL")


def database(name: str) -> dict[str, Any] | None:
    """Return the Django settings of a PostgreSQL URL, or None when it is not set."""
    url = text(name)
    if not url:
        return None
    parts = _postgres_url(name, url)
    try:
        parsed = environ.Env.db_url_config(url)
    except ValueError as error:
        raise SettingError(name, mask_secrets(url), f"a PostgreSQL URL ({error})") from None
    if not parsed.get("NAME"):
        raise SettingError(name, mask_secrets(url), "a PostgreSQL URL that names a database")
    if parts.hostname is None:
        parsed.setdefault("HOST", "")
    return dict(parsed)


def web_address(setting: Setting[str]) -> tuple[str, int]:
    """Return host and port of an address setting."""
    return split_address(setting.name, read(setting))


@dataclass(frozen=True, kw_only=True)
class PublicUrl:
    """Where people reach this site."""

    url: str
    is_secure: bool
    host: str


def public_url(*, default: str) -> PublicUrl:
    """Return ``PUBLIC_URL``: http or https, a host, no path."""
    value = text("PUBLIC_URL") or default
    try:
        parts = urlsplit(value)
        port_fits = parts.port is None or 0 < parts.port < 65536
    except ValueError:
        port_fits = False
    if not port_fits or parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingError("PUBLIC_URL", value, "an http or https URL, such as https://example.com")
    if parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc:
        allowed = "a URL without user, path, query or fragment"
        raise SettingError("PUBLIC_URL", mask_secrets(value), allowed)
    return PublicUrl(
        url=f"{parts.scheme}://{parts.netloc}",
        is_secure=parts.scheme == "https",
        host=parts.hostname,
    )


def _raw(name: str) -> str:
    """Return a variable as it is: ``Env.str`` takes ``$x`` for the name of another one."""
    return str(environment.ENVIRON.get(name, ""))


def secret_key() -> str:
    """Return ``SECRET_KEY``; beside the embedded server it is made once and kept."""
    value = text("SECRET_KEY")
    if value:
        return value
    if not uses_embedded_server():
        raise MissingSettingError(
            "SECRET_KEY", "it is required with DATABASE_URL; set a long random text"
        )
    return _kept_secret(var_directory() / "secret_key")


def _kept_secret(path: Path) -> str:
    from django.core.management.utils import get_random_secret_key

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return _read_kept(path)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(get_random_secret_key())
        return _read_kept(path)
    except OSError as error:
        allowed = f"a directory that this user can write to ({error.strerror})"
        raise SettingError("ENGINEROOM_VAR", var_directory(), allowed) from None


def _read_kept(path: Path) -> str:
    value = path.read_text(encoding="ascii").strip()
    if not value:
        raise SettingError("SECRET_KEY", "", f"not empty; remove {path} to make a new one")
    return value


def _postgres_url(name: str, url: str) -> SplitResult:
    allowed = "a PostgreSQL URL, such as postgres://user:password@host:5432/name"
    try:
        parts = urlsplit(url)
        port_fits = parts.port is None or 0 < parts.port < 65536
    except ValueError:
        raise SettingError(name, mask_secrets(url), allowed) from None
    if parts.scheme not in POSTGRES_SCHEMES or not port_fits:
        raise SettingError(name, mask_secrets(url), allowed)
    return parts
