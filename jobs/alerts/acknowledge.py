"""Acknowledging an alert: somebody knows, and says what is being done."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from django.db import transaction

from jobs.alerts.errors import PastAcknowledgementError, ResolvedAlertError, UnknownAlertError
from jobs.audit import SYSTEM, record
from jobs.clock import ClockTime
from jobs.models import Alert
from jobs.models.audit import Via
from jobs.schedule import database_now

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

VERB = "acknowledge"
NAME_LENGTH = 200


def acknowledge(
    alert_id: int,
    *,
    actor: AbstractBaseUser | None,
    note: str,
    until: dt.datetime | None = None,
    via: Via = Via.ADMIN,
) -> bool:
    """
    Write that ``actor`` knows of an open alert, with a note and until when.

    One row of the audit in the same transaction. The same said twice acts once: then False.
    Raises ``UnknownAlertError``, ``ResolvedAlertError``, or ``PastAcknowledgementError``.
    """
    name = (SYSTEM if actor is None else actor.get_username())[:NAME_LENGTH]
    with transaction.atomic():
        alert = Alert.objects.select_for_update().filter(pk=alert_id).first()
        if alert is None:
            raise UnknownAlertError(alert_id)
        if alert.resolved_at is not None:
            raise ResolvedAlertError(alert_id, alert.rule, alert.subject)
        if until is not None and until <= database_now():
            raise PastAcknowledgementError(until)
        said = {"acknowledged_by": name, "note": note, "acknowledged_until": until}
        if alert.acknowledged_at and all(getattr(alert, key) == said[key] for key in said):
            return False
        Alert.objects.filter(pk=alert_id).update(acknowledged_at=ClockTime(), **said)
        record(
            actor=actor,
            via=via,
            verb=VERB,
            target=f"{Alert._meta.db_table} {alert_id}",
            reason=note,
            detail={
                "rule": alert.rule,
                "subject": alert.subject,
                "until": until.isoformat() if until else None,
            },
        )
    return True
