"""Acknowledging an alert."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from jobs.alerts.acknowledge import acknowledge
from jobs.models import Alert
from jobs.models.audit import Via
from jobs.reads.links import admin_url
from jobs.transactions import short_transaction
from jobs.verbs.actors import Actor, as_user
from jobs.verbs.targets import kept_reason
from jobs.verbs.verb import verb


@dataclass(frozen=True, kw_only=True)
class AcknowledgeAnswer:
    """That somebody knows of an alert."""

    alert_id: int
    changed: bool  # False: the same was said before
    admin_url: str


@verb("acknowledge", permission="jobs.acknowledge_alert")
def acknowledge_alert(
    alert_id: int,
    *,
    actor: Actor,
    via: Via,
    reason: str = "",
    until: dt.datetime | None = None,
) -> AcknowledgeAnswer:
    """
    Write that the actor knows of an open alert; ``reason`` is the note that it keeps.

    Raises ``UnknownAlertError``, ``ResolvedAlertError``, or ``PastAcknowledgementError``.
    """
    with short_transaction("default"):
        changed = acknowledge(
            alert_id, actor=as_user(actor), note=kept_reason(reason), until=until, via=via
        )
    return AcknowledgeAnswer(
        alert_id=alert_id, changed=changed, admin_url=admin_url(Alert, alert_id)
    )
