"""What an operator may do to the suppression list and to a paused channel, with its audit."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import QuerySet

from emails.addresses import normalise
from emails.models import EmailChannel, EmailJob, EmailSuppression
from emails.suppression import suppress
from jobs import notifier
from jobs.audit import Outcome, record
from jobs.clock import ClockTime
from jobs.models.audit import Via
from jobs.verbs.rows import ids_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.contrib.auth.models import AbstractBaseUser

TABLE = EmailSuppression._meta.db_table


def suppress_address(
    address: str,
    *,
    actor: AbstractBaseUser | None,
    via: Via,
    reason: str = "",
    kind: str = "manual",
    list_name: str = "",
    until: dt.datetime | None = None,
) -> Outcome:
    """Put an address on the suppression list; ``kind`` is its reason there, ``reason`` why."""
    key = normalise(address)
    with transaction.atomic():
        known = EmailSuppression.objects.filter(
            address=key, reason=kind, list_name=list_name, until=until
        )
        if known.exists():
            return Outcome(changed=())
        entry = suppress(key, reason=kind, list_name=list_name, until=until, detail=reason)
        detail = {"kind": kind, "list": list_name, "until": until.isoformat() if until else None}
        target = f"{TABLE} {entry.pk}"
        record(actor=actor, via=via, verb="suppress", target=target, reason=reason, detail=detail)
    return Outcome(changed=(entry.pk,))


def unsuppress_address(
    address: str,
    *,
    actor: AbstractBaseUser | None,
    via: Via,
    reason: str = "",
    kind: str = "",
    list_name: str = "",
) -> Outcome:
    """Take an address off the suppression list, or only the entries of a kind or a list."""
    entries = EmailSuppression.objects.filter(address=normalise(address))
    if kind:
        entries = entries.filter(reason=kind)
    if list_name:
        entries = entries.filter(list_name=list_name)
    return unsuppress_entries(entries, actor=actor, via=via, reason=reason)


def unsuppress_entries(
    entries: Iterable[int] | QuerySet[EmailSuppression],
    *,
    actor: AbstractBaseUser | None,
    via: Via,
    reason: str = "",
) -> Outcome:
    """Remove entries of the suppression list by their ids."""
    with transaction.atomic():
        rows = EmailSuppression.objects.filter(pk__in=ids_of(entries)).select_for_update()
        found = list(rows.order_by("pk").values_list("pk", flat=True))
        if found:
            EmailSuppression.objects.filter(pk__in=found).delete()
            target = f"{TABLE} {found[0]}" if len(found) == 1 else TABLE
            detail = {"count": len(found), "ids": found}
            record(
                actor=actor, via=via, verb="unsuppress", target=target, reason=reason, detail=detail
            )
    return Outcome(changed=tuple(found))


def try_channel_now(
    channels: Iterable[int] | QuerySet[EmailChannel],
    *,
    actor: AbstractBaseUser | None,
    via: Via,
    reason: str = "",
) -> Outcome:
    """End the wait of paused channels: each is tried at once, with one mail."""
    with transaction.atomic():
        rows = EmailChannel.objects.filter(pk__in=ids_of(channels), next_try_at__gt=ClockTime())
        found = list(rows.select_for_update().values_list("pk", flat=True))
        if found:
            EmailChannel.objects.filter(pk__in=found).update(next_try_at=ClockTime())
            target = f"{EmailChannel._meta.db_table} {found[0]}"
            record(actor=actor, via=via, verb="resume", target=target, reason=reason)
            notifier.wake(EmailJob._meta.db_table)
    return Outcome(changed=tuple(found))
