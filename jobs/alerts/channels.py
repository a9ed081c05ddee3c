"""Through what people are told of an alert: the log, mail to ADMINS, a webhook."""

from __future__ import annotations

import datetime as dt
import enum
import json
import logging
import threading
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.serializers.json import DjangoJSONEncoder

from jobs import conf
from jobs.alerts.errors import WebhookRefusedError, WebhookSilentError
from jobs.alerts.rules import CLOSES_WHEN
from jobs.models.alert import AlertRule

logger = logging.getLogger("jobs.alerts")
LOG = "log"
WEBHOOK_SECONDS = 5.0


class Event(enum.Enum):
    """What is told of an alert."""

    OPENED = "opened"
    RESOLVED = "resolved"


@dataclass(frozen=True, kw_only=True)
class Notice:
    """An alert as a channel tells it."""

    event: Event
    id: int
    rule: str
    subject: str
    detail: str
    evidence: dict[str, Any]
    opened_at: dt.datetime
    resolved_at: dt.datetime | None
    resolution: str
    admin_url: str  # empty where the project has no admin

    def as_json(self) -> bytes:
        """Return it as one JSON object, times in ISO 8601 with Z."""
        fields = asdict(self) | {"event": self.event.value}
        return json.dumps(fields, cls=DjangoJSONEncoder).encode()


class Channel(Protocol):
    """One way to tell people. ``send`` raises when it could not."""

    name: str
    is_remote: bool  # needs the network

    def send(self, notice: Notice) -> None:
        """Tell it."""


class LogChannel:
    """A line at ERROR when an alert opens, at INFO when it is resolved."""

    name = LOG
    is_remote = False

    def send(self, notice: Notice) -> None:
        """Write the line."""
        if notice.event is Event.OPENED:
            logger.error(
                "alert_opened rule=%s subject=%s detail=%s",
                notice.rule,
                notice.subject,
                notice.detail,
            )
        else:
            logger.info(
                "alert_resolved rule=%s subject=%s resolution=%s",
                notice.rule,
                notice.subject,
                notice.resolution,
            )


class MailChannel:
    """A mail to ADMINS, through whatever mail backend the project has."""

    name = "mail"
    is_remote = True

    def send(self, notice: Notice) -> None:
        """Send the mail."""
        EmailMessage(
            subject=f"{settings.EMAIL_SUBJECT_PREFIX}{mail_subject(notice)}",
            body=mail_body(notice),
            from_email=settings.SERVER_EMAIL,
            to=admin_addresses(),
        ).send()


class WebhookChannel:
    """
    A POST of the notice as JSON to ALERT_WEBHOOK_URL, within five seconds.

    The limit is of all of it, the look-up of the name and a slow answer included: urllib's
    own is of each step. A redirect is no success, since it would turn the POST into a GET.
    """

    name = "webhook"
    is_remote = True

    def send(self, notice: Notice) -> None:
        """Post it; raise unless the answer is one of success."""
        request = urllib.request.Request(  # noqa: S310 (http or https, checked with the setting)
            conf.ALERT_WEBHOOK_URL.get(),
            data=notice.as_json(),
            headers={"Content-Type": "application/json", "User-Agent": "engineroom"},
            method="POST",
        )
        posting = _Posting(request)
        posting.start()
        posting.join(WEBHOOK_SECONDS)
        posting.result()


def channels() -> list[Channel]:
    """Return the channels that are configured; the log always is."""
    found: list[Channel] = [LogChannel()]
    if admin_addresses():
        found.append(MailChannel())
    if conf.ALERT_WEBHOOK_URL.get():
        found.append(WebhookChannel())
    return found


def admin_addresses() -> list[str]:
    """Return the addresses of ADMINS: pairs until Django 5.2, addresses from 6.0 on."""
    return [
        str(item[1]) if isinstance(item, tuple | list) else str(item) for item in settings.ADMINS
    ]


def mail_subject(notice: Notice) -> str:
    """Return the subject on one line."""
    head = "Alert" if notice.event is Event.OPENED else "Resolved"
    return " ".join(f"{head}: {notice.rule} {notice.subject}".split())


def mail_body(notice: Notice) -> str:
    """Return the mail's text: what is wrong, since when, what closes it, where it is shown."""
    lines = [
        f"{notice.rule}  {notice.subject}",
        "",
        notice.detail,
        "",
        f"Opened: {_instant(notice.opened_at)}",
    ]
    if notice.event is Event.RESOLVED and notice.resolved_at is not None:
        lines += [f"Resolved: {_instant(notice.resolved_at)}", notice.resolution]
    elif notice.rule in CLOSES_WHEN:
        lines.append(f"Closes when: {CLOSES_WHEN[AlertRule(notice.rule)]}")
    if notice.admin_url:
        lines += ["", notice.admin_url]
    return "\n".join(lines) + "\n"


def _instant(at: dt.datetime) -> str:
    return f"{at.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S} UTC"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **options: Any) -> None:
        """Follow nowhere."""


class _Posting(threading.Thread):
    """One POST, on a daemon thread so that it can be left behind."""

    def __init__(self, request: urllib.request.Request) -> None:
        super().__init__(name="engineroom-alert-webhook", daemon=True)
        self._request = request
        self._error: Exception | None = None

    def run(self) -> None:
        opener = urllib.request.build_opener(_NoRedirect)
        try:
            with opener.open(self._request, timeout=WEBHOOK_SECONDS) as answer:
                answer.read(1)
        except urllib.error.HTTPError as error:
            error.close()
            self._error = WebhookRefusedError(error.code)
        except Exception as error:  # noqa: BLE001 (raised by the caller's thread)
            self._error = error

    def result(self) -> None:
        if self.is_alive():
            raise WebhookSilentError(WEBHOOK_SECONDS)
        if self._error is not None:
            raise self._error
