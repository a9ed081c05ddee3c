"""
Telling each channel once of an opening and once of a resolving.

Whoever tells takes the duty first, by a short transaction on the alert's row, and writes how
it went in another one: a webhook holds no lock, and of two processes one tells. A duty whose
process died is taken again after a minute, a failed one once more by the next evaluation.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.utils.dateparse import parse_datetime

from jobs.alerts.channels import LOG, Channel, Event, Notice, channels
from jobs.clock import ago
from jobs.failure import headline
from jobs.models import Alert
from jobs.reads.links import admin_url
from jobs.schedule import database_now
from jobs.transactions import short_transaction

logger = logging.getLogger(__name__)
MOST_TRIES = 2
TAKEN_FOR = dt.timedelta(seconds=60)
# News of a resolving is told within this time, or not at all.
NEWS_MS = 3_600_000
MOST_ALERTS = 200

# {"event", "channel", "at", "tries", "ok": true, false or null while it is told, "detail"}
Entry = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Duty:
    """One thing to tell through one channel."""

    event: Event
    channel: str


def deliver_due(*, alert_ids: Collection[int] | None = None, remote: bool = True) -> int:
    """
    Tell the channels what they were not told yet; return how many times one was told.

    All open alerts and what was resolved in the last hour, or only the alerts named.
    ``remote`` False tells the log only.
    """
    chosen = [channel for channel in channels() if remote or not channel.is_remote]
    return sum(_deliver(alert_id, chosen) for alert_id in _candidates(alert_ids))


def due_duties(
    entries: Sequence[Entry],
    *,
    is_resolved: bool,
    channel_names: Iterable[str],
    now: dt.datetime,
) -> Iterator[Duty]:
    """
    Yield what is to be told, given what was.

    An alert that is resolved before a channel heard of it is no news for that channel; the
    log hears of everything.
    """
    told = {(entry["event"], entry["channel"]): entry for entry in entries}
    for name in channel_names:
        opened = told.get((Event.OPENED.value, name))
        if _is_due(opened, now=now) and (not is_resolved or name == LOG):
            yield Duty(event=Event.OPENED, channel=name)
        if is_resolved and (opened is not None or name == LOG):
            resolved = told.get((Event.RESOLVED.value, name))
            if _is_due(resolved, now=now):
                yield Duty(event=Event.RESOLVED, channel=name)


def _is_due(entry: Entry | None, *, now: dt.datetime) -> bool:
    if entry is None:
        return True
    if entry.get("ok") is True or entry.get("tries", 1) >= MOST_TRIES:
        return False
    if entry.get("ok") is False:
        return True
    taken_at = parse_datetime(str(entry.get("at")))
    return taken_at is None or now - taken_at > TAKEN_FOR


def _candidates(alert_ids: Collection[int] | None) -> list[int]:
    if alert_ids is not None:
        return list(alert_ids)
    news = Q(resolved_at__isnull=True) | Q(resolved_at__gt=ago(NEWS_MS))
    rows = Alert.objects.filter(news).order_by("-pk")
    return list(rows.values_list("pk", flat=True)[:MOST_ALERTS])


def _deliver(alert_id: int, chosen: Sequence[Channel]) -> int:
    by_name = {channel.name: channel for channel in chosen}
    taken = _take(alert_id, list(by_name))
    for duty, notice in taken:
        trouble = _tell(by_name[duty.channel], notice)
        _settle(alert_id, duty, trouble=trouble)
    return len(taken)


def _take(alert_id: int, channel_names: list[str]) -> list[tuple[Duty, Notice]]:
    """Write down that this process tells now; a row that another one holds is left to it."""
    with short_transaction("default"):
        alert = Alert.objects.select_for_update(skip_locked=True).filter(pk=alert_id).first()
        if alert is None:
            return []
        now = database_now()
        duties = list(
            due_duties(
                alert.notifications,
                is_resolved=alert.resolved_at is not None,
                channel_names=channel_names,
                now=now,
            )
        )
        for duty in duties:
            _write(alert, duty, at=now.isoformat(), ok=None, detail="")
        if duties:
            alert.save(update_fields=["notifications"])
    return [(duty, _notice(alert, duty.event)) for duty in duties]


def _tell(channel: Channel, notice: Notice) -> str:
    """Return what went wrong; empty when the channel was told."""
    try:
        channel.send(notice)
    except Exception as error:  # noqa: BLE001 (a channel's failure is its own)
        logger.warning(
            "alert_not_told channel=%s id=%s error=%s", channel.name, notice.id, headline(error)
        )
        return headline(error)
    return ""


def _settle(alert_id: int, duty: Duty, *, trouble: str) -> None:
    with short_transaction("default"):
        alert = Alert.objects.select_for_update().filter(pk=alert_id).first()
        if alert is not None:
            _write(alert, duty, ok=not trouble, detail=trouble)
            alert.save(update_fields=["notifications"])


def _write(alert: Alert, duty: Duty, **fields: Any) -> None:
    """Write an entry; one that says ``ok`` None is a further try."""
    known = [
        entry
        for entry in alert.notifications
        if (entry["event"], entry["channel"]) == (duty.event.value, duty.channel)
    ]
    if known:
        entry = known[0]
    else:
        entry = {"event": duty.event.value, "channel": duty.channel, "tries": 0}
        alert.notifications.append(entry)
    entry |= fields
    if fields["ok"] is None:
        entry["tries"] += 1


def _notice(alert: Alert, event: Event) -> Notice:
    return Notice(
        event=event,
        id=alert.pk,
        rule=alert.rule,
        subject=alert.subject,
        detail=alert.detail,
        evidence=alert.evidence,
        opened_at=alert.opened_at,
        resolved_at=alert.resolved_at,
        resolution=alert.resolution,
        admin_url=admin_url(Alert, alert.pk),
    )
