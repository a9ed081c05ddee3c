"""The settings of the email queue: names, defaults and what is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emails.delivery import parse_delivery_url
from emails.errors import InvalidDeliveryURL
from jobs.conf import Setting, Whole
from jobs.errors import SettingError

ALLOWED = (
    "smtp://[user:password@]host[:port], smtps://…, smtp+tls://… (each with ?ca=/path or"
    " ?verify=off), file:///directory or console:"
)


@dataclass(frozen=True, kw_only=True)
class DeliveryUrl(Setting[str]):
    """Where queued mail goes; empty: it stays queued."""

    def check(self, value: Any) -> str:
        if value and not isinstance(value, str):
            raise SettingError(self.name, value, ALLOWED)
        try:
            if value:
                parse_delivery_url(value, variable=self.name)
        except InvalidDeliveryURL as error:
            raise SettingError(self.name, error.masked, f"{ALLOWED}; {error.problem}") from None
        return str(value or "")

    def parse(self, text: str) -> str:
        return self.check(text.strip())


DELIVERY_URL: DeliveryUrl = DeliveryUrl(name="EMAIL_DELIVERY_URL", default="")
POLL_MS = Whole(name="EMAIL_POLL_MS", default=30_000, minimum=100, maximum=3_600_000)
CONNECTIONS = Whole(name="EMAIL_CONNECTIONS", default=4, minimum=1, maximum=64)
MAX_ATTEMPTS = Whole(name="EMAIL_MAX_ATTEMPTS", default=5, minimum=1, maximum=50)
MAX_STALE_RECOVERIES = Whole(name="EMAIL_MAX_STALE_RECOVERIES", default=5, minimum=0, maximum=50)

SETTINGS: tuple[Setting[Any], ...] = (POLL_MS, CONNECTIONS, MAX_ATTEMPTS, MAX_STALE_RECOVERIES)
