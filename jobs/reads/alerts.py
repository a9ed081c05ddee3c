"""Alerts: what is or was wrong, as a list and one by one."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from jobs.alerts.rules import CLOSES_WHEN
from jobs.clock import Now
from jobs.models import Alert
from jobs.models.alert import AlertRule
from jobs.reads.links import admin_url
from jobs.reads.paging import PAGE_LIMIT, Page, read_page

OPEN = "open"
RESOLVED = "resolved"


@dataclass(frozen=True, kw_only=True)
class NotificationItem:
    """What one channel was told."""

    event: str  # opened, resolved
    channel: str
    at: str  # ISO 8601
    tries: int
    ok: bool | None  # None: it is being told, or its process died meanwhile
    detail: str


@dataclass(frozen=True, kw_only=True)
class AlertItem:
    """One alert."""

    id: int
    rule: str
    subject: str  # a job id, a queue, a backup, or "-"
    state: str  # open, resolved
    detail: str
    closes_when: str
    evidence_run_ids: tuple[int, ...]
    evidence: dict[str, Any]
    opened_at: dt.datetime
    last_seen_at: dt.datetime
    acknowledged_at: dt.datetime | None
    acknowledged_by: str
    acknowledged_until: dt.datetime | None
    is_acknowledged: bool  # somebody knows, and the time named has not passed
    note: str
    resolved_at: dt.datetime | None
    resolution: str
    notifications: tuple[NotificationItem, ...]
    read_at: dt.datetime  # the database's time of this answer
    admin_url: str


def list_alerts(
    *,
    state: str = OPEN,
    rule: str = "",
    subject: str = "",
    limit: int = PAGE_LIMIT,
    before_id: int | None = None,
) -> Page[AlertItem]:
    """Return alerts, newest first; ``state`` is open, resolved, or empty for both."""
    rows = narrow_alerts(alert_rows(), state=state, rule=rule, subject=subject)
    return read_page(rows, alert_item, limit=limit, before_id=before_id)


def get_alert(alert_id: int) -> AlertItem | None:
    """Return one alert; None when there is none of that id."""
    row = alert_rows().filter(pk=alert_id).first()
    return None if row is None else alert_item(row)


def alert_rows() -> QuerySet[Alert]:
    """Return the alerts with the database's time."""
    return Alert.objects.annotate(read_at=Now())


def narrow_alerts(
    rows: QuerySet[Alert], *, state: str = "", rule: str = "", subject: str = ""
) -> QuerySet[Alert]:
    """Apply the filters that lists, commands and tools have in common."""
    if state:
        rows = rows.filter(resolved_at__isnull={OPEN: True, RESOLVED: False}[state])
    if rule:
        rows = rows.filter(rule=AlertRule(rule))
    if subject:
        rows = rows.filter(subject=subject)
    return rows


def alert_item(row: Any) -> AlertItem:
    """Return a row of ``alert_rows`` as a value."""
    copied = (
        "id", "rule", "subject", "detail", "opened_at", "last_seen_at", "acknowledged_at",
        "acknowledged_by", "acknowledged_until", "note", "resolved_at", "resolution", "read_at",
    )  # fmt: skip
    return AlertItem(
        **{name: getattr(row, name) for name in copied},
        state=OPEN if row.resolved_at is None else RESOLVED,
        closes_when=CLOSES_WHEN[AlertRule(row.rule)],
        evidence=row.evidence,
        evidence_run_ids=tuple(row.evidence.get("run_ids", ())),
        is_acknowledged=row.acknowledged_at is not None
        and (row.acknowledged_until is None or row.acknowledged_until > row.read_at),
        notifications=tuple(_notification(entry) for entry in row.notifications),
        admin_url=admin_url(Alert, row.pk),
    )


def _notification(entry: dict[str, Any]) -> NotificationItem:
    return NotificationItem(
        event=entry["event"],
        channel=entry["channel"],
        at=str(entry.get("at", "")),
        tries=entry.get("tries", 1),
        ok=entry.get("ok"),
        detail=entry.get("detail", ""),
    )
