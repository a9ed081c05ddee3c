"""
The engine's settings: names, defaults and what is allowed.

A project sets them in its Django settings under the same names. Declared here as
values, so that a site that reads its environment checks the same ranges.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from django.conf import settings

from jobs.errors import SettingError
from jobs.objectstore.endpoints import ALLOWED_ENDPOINTS, parse_endpoint
from jobs.objectstore.errors import EndpointError

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Setting(Generic[T]):
    """A named setting. ``parse`` takes text, ``check`` a value; both refuse, never coerce."""

    name: str
    default: T

    def get(self) -> T:
        """Return the checked value from Django's settings, or the default."""
        value = getattr(settings, self.name, self.default)
        return value if value is self.default else self.check(value)

    def check(self, value: Any) -> T:
        raise SettingError(self.name, value, "no value is defined for it")

    def parse(self, text: str) -> T:
        raise SettingError(self.name, text, "no value is defined for it")


@dataclass(frozen=True, kw_only=True)
class Whole(Setting[int]):
    """A whole number within a closed range."""

    minimum: int
    maximum: int

    def check(self, value: Any) -> int:
        fits = isinstance(value, int) and not isinstance(value, bool)
        if not fits or not self.minimum <= value <= self.maximum:
            raise SettingError(self.name, value, self.allowed)
        return int(value)

    def parse(self, text: str) -> int:
        return self.check(parse_whole(self.name, text, self.allowed))

    @property
    def allowed(self) -> str:
        return f"a whole number from {self.minimum} to {self.maximum}"


@dataclass(frozen=True, kw_only=True)
class Wholes(Setting[tuple[int, ...]]):
    """One or more whole numbers within a closed range, separated by commas."""

    minimum: int
    maximum: int

    def check(self, value: Any) -> tuple[int, ...]:
        items = tuple(value) if isinstance(value, (list, tuple)) else ()
        if not items or not all(self._fits(item) for item in items):
            raise SettingError(self.name, value, self.allowed)
        return items

    def parse(self, text: str) -> tuple[int, ...]:
        items = [parse_whole(self.name, item, self.allowed, whole=text) for item in text.split(",")]
        if not all(self._fits(item) for item in items):
            raise SettingError(self.name, text, self.allowed)
        return tuple(items)

    def _fits(self, item: Any) -> bool:
        is_whole = isinstance(item, int) and not isinstance(item, bool)
        return is_whole and self.minimum <= item <= self.maximum

    @property
    def allowed(self) -> str:
        return (
            f"one or more whole numbers from {self.minimum} to {self.maximum}, separated by commas"
        )


@dataclass(frozen=True, kw_only=True)
class Switch(Setting[bool]):
    """``on`` or ``off``, in this spelling only."""

    def check(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise SettingError(self.name, value, "True or False")
        return value

    def parse(self, text: str) -> bool:
        match text.strip():
            case "on":
                return True
            case "off":
                return False
        raise SettingError(self.name, text, "on or off")


@dataclass(frozen=True, kw_only=True)
class Address(Setting[str]):
    """``host:port``, an IPv6 host in brackets; empty where the default is empty."""

    def check(self, value: Any) -> str:
        if value != self.default:
            split_address(self.name, value)
        return str(value)

    def parse(self, text: str) -> str:
        return self.check(text.strip())


@dataclass(frozen=True, kw_only=True)
class Text(Setting[str]):
    """Any text; what it means is checked where it is used."""

    def check(self, value: Any) -> str:
        if not isinstance(value, str):
            raise SettingError(self.name, value, "a text")
        return value

    def parse(self, text: str) -> str:
        return text.strip()


@dataclass(frozen=True, kw_only=True)
class WebUrl(Setting[str]):
    """An http or https URL; empty where the default is empty. Its path may be a secret."""

    allowed = "an http or https URL, such as https://example.com/hook"

    def check(self, value: Any) -> str:
        if value == self.default:
            return self.default
        try:
            parts = urlsplit(value) if isinstance(value, str) else None
            fits = parts is not None and (parts.port is None or 0 < parts.port < 65536)
        except ValueError:
            parts, fits = None, False
        if not fits or parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            shown = f"{parts.scheme}://…" if parts is not None and parts.scheme else "…"
            raise SettingError(self.name, shown, self.allowed)
        return str(value)

    def parse(self, text: str) -> str:
        return self.check(text.strip())


@dataclass(frozen=True, kw_only=True)
class StoreUrl(Setting[str]):
    """The endpoint of an object store; empty where the default is empty. It may hold a secret."""

    def check(self, value: Any) -> str:
        if value == self.default:
            return self.default
        if not isinstance(value, str):
            raise SettingError(self.name, "…", ALLOWED_ENDPOINTS)
        try:
            parse_endpoint(value)
        except EndpointError as error:
            raise SettingError(self.name, error.masked, error.problem) from None
        return value

    def parse(self, text: str) -> str:
        return self.check(text.strip())


def parse_whole(name: str, text: str, allowed: str, *, whole: str | None = None) -> int:
    """Read a whole number in plain ASCII digits; refuse everything else that int() would take."""
    stripped = text.strip()
    digits = stripped.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
        raise SettingError(name, text if whole is None else whole, allowed)
    return int(stripped)


def split_address(name: str, value: object) -> tuple[str, int]:
    """Split ``host:port`` into its parts; the port is from 0 (any free one) to 65535."""
    allowed = "host:port, such as 127.0.0.1:8000 or [::1]:8000"
    host, separator, port = str(value).rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not separator or not host or (":" in host and not bracketed):
        raise SettingError(name, value, allowed)
    number = parse_whole(name, port, allowed, whole=str(value))
    if not 0 <= number <= 65535:
        raise SettingError(name, value, allowed)
    if bracketed:
        try:
            host = str(ipaddress.IPv6Address(host[1:-1]))
        except ValueError:
            raise SettingError(name, value, allowed) from None
    return host, number


WORKERS = Switch(name="ENGINEROOM_WORKERS", default=True)
WORKER_LISTEN = Switch(name="WORKER_LISTEN", default=True)
WORKER_HEALTH = Address(name="WORKER_HEALTH", default="")
WEB: Address = Address(name="ENGINEROOM_WEB", default="127.0.0.1:8000")
PUBLIC_URL = Text(name="PUBLIC_URL", default="")
DIRECT_DATABASE_URL = Text(name="DIRECT_DATABASE_URL", default="")
CLAIM_STALE_MS = Whole(
    name="WORKER_CLAIM_STALE_MS", default=300_000, minimum=1000, maximum=86_400_000
)
SHUTDOWN_GRACE_MS = Whole(
    name="WORKER_SHUTDOWN_GRACE_MS", default=30_000, minimum=0, maximum=600_000
)
STATEMENT_TIMEOUT_MS = Whole(
    name="WORKER_STATEMENT_TIMEOUT_MS", default=10_000, minimum=100, maximum=600_000
)
JOB_LEASE_MS = Whole(name="JOB_LEASE_MS", default=60_000, minimum=3000, maximum=3_600_000)
RETRY_BACKOFF_MS = Wholes(
    name="RETRY_BACKOFF_MS",
    default=(30_000, 120_000, 480_000, 1_920_000),
    minimum=1,
    maximum=86_400_000,
)
CONSOLE_LIVE_SECONDS = Whole(name="CONSOLE_LIVE_SECONDS", default=3, minimum=0, maximum=3600)
ALERT_WEBHOOK_URL = WebUrl(name="ALERT_WEBHOOK_URL", default="")
BACKUP_DIR = Text(name="BACKUP_DIR", default="var/backups")
# Empty: var/objects below the working directory.
OBJECT_STORE_URL: StoreUrl = StoreUrl(name="OBJECT_STORE_URL", default="")

SETTINGS: tuple[Setting[Any], ...] = (
    WORKERS,
    WORKER_LISTEN,
    WORKER_HEALTH,
    WEB,
    CLAIM_STALE_MS,
    SHUTDOWN_GRACE_MS,
    STATEMENT_TIMEOUT_MS,
    JOB_LEASE_MS,
    RETRY_BACKOFF_MS,
    CONSOLE_LIVE_SECONDS,
    ALERT_WEBHOOK_URL,
    OBJECT_STORE_URL,
)
