"""
The suppression list: who gets nothing, and who gets no list mail.

Looked at when mail is queued and again when it is sent. A hard bounce, a complaint, an
erasure or an operator's entry stops everything to an address; an unsubscription stops list
mail only (mail that has ``List-Unsubscribe``), of its list where that is known.
"""

from __future__ import annotations

import datetime as dt
import enum
import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q

from emails.addresses import normalise, suppression_key
from emails.errors import InvalidOption
from emails.models import (
    EmailJob,
    EmailOutcome,
    EmailStatus,
    EmailSuppression,
    SuppressionReason,
    SuppressionScope,
    first_address,
)
from emails.statements import fetch
from jobs import clock
from jobs.failure import storable

logger = logging.getLogger(__name__)
LONGEST_DETAIL = 2000
LONGEST_LIST_NAME = 100
WAITING = Q(status__in=(EmailStatus.PENDING, EmailStatus.FAILED)) & ~Q(
    status=EmailStatus.FAILED, next_retry_at__isnull=True
)


class Bounce(enum.Enum):
    """What a provider reports of an address, in the words of its webhook."""

    HARD = "hard"  # there is no such mailbox: nothing more is sent to it
    SOFT = "soft"  # full, or not there today: nothing changes
    COMPLAINT = "complaint"  # reported as spam: nothing more is sent to it


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry as far as a decision needs it."""

    reason: str
    scope: str
    list_name: str

    def stops(self, *, is_list_mail: bool, list_name: str) -> bool:
        """Say whether it stops a mail."""
        if self.scope == SuppressionScope.EVERYTHING:
            return True
        # List mail whose list is not known could be of the very list that was left.
        same = not self.list_name or not list_name or self.list_name == list_name
        return is_list_mail and same


Entries = Mapping[str, Collection[Entry]]  # by the suppressed form of the address


def suppress(
    address: str,
    *,
    reason: str = SuppressionReason.MANUAL,
    list_name: str = "",
    until: dt.datetime | None = None,
    detail: str = "",
) -> EmailSuppression:
    """
    Put an address on the suppression list, in any spelling; return its entry.

    ``reason`` is one of ``hard_bounce``, ``complaint``, ``unsubscribe``, ``erasure`` and
    ``manual``. An unsubscription, and any entry with a ``list_name``, stops list mail only.
    Twice is one entry, with the later ``until`` and ``detail``. Raises a ValueError for what
    is no address, no reason or no instant with a time zone.
    """
    key = normalise(address)
    if reason not in SuppressionReason.values:
        raise InvalidOption("reason", reason, f"one of {', '.join(SuppressionReason.values)}")
    if len(list_name) > LONGEST_LIST_NAME or "\x00" in list_name:
        raise InvalidOption("list_name", list_name, "at most 100 characters without NUL")
    if until is not None and until.tzinfo is None:
        raise InvalidOption("until", str(until), "an instant with its time zone")
    is_for_lists = bool(list_name) or reason == SuppressionReason.UNSUBSCRIBE
    entry, _ = EmailSuppression.objects.update_or_create(
        address=key,
        reason=reason,
        list_name=list_name,
        defaults={
            "scope": SuppressionScope.LISTS if is_for_lists else SuppressionScope.EVERYTHING,
            "until": until,
            "detail": storable(detail)[:LONGEST_DETAIL],
        },
    )
    return entry


def unsuppress(address: str, *, reason: str = "", list_name: str = "") -> int:
    """Take an address off the list, or only the entries of a reason or a list; return how many."""
    entries = EmailSuppression.objects.filter(address=normalise(address))
    if reason:
        entries = entries.filter(reason=reason)
    if list_name:
        entries = entries.filter(list_name=list_name)
    removed, _ = entries.delete()
    return removed


def record_bounce(address: str, *, kind: str | Bounce = Bounce.HARD, detail: str = "") -> bool:
    """
    Take in what a provider's webhook reports; return whether the address is suppressed by it.

    ``kind`` is ``hard`` (no such mailbox), ``soft`` (nothing changes) or ``complaint``
    (reported as spam). ``detail`` is kept with the entry, such as the provider's diagnostic.
    Raises a ValueError for an unknown kind or what is no address.
    """
    try:
        bounce = Bounce(kind)
    except ValueError:
        allowed = f"one of {', '.join(item.value for item in Bounce)}"
        raise InvalidOption("kind", str(kind), allowed) from None
    match bounce:
        case Bounce.HARD:
            suppress(address, reason=SuppressionReason.HARD_BOUNCE, detail=detail)
        case Bounce.COMPLAINT:
            suppress(address, reason=SuppressionReason.COMPLAINT, detail=detail)
        case Bounce.SOFT:
            normalise(address)
    logger.info("bounce_recorded kind=%s", bounce.value)
    return bounce is not Bounce.SOFT


def unsubscribe(address: str, *, list_name: str = "") -> int:
    """
    Take an address off a list (all lists without a name); return how many mails it cancelled.

    Mail of the list that waits is cancelled here and now; mail that a worker holds is looked
    at again before it is sent.
    """
    key = normalise(address)
    with transaction.atomic():
        suppress(address, reason=SuppressionReason.UNSUBSCRIBE, list_name=list_name)
        waiting = EmailJob.objects.filter(WAITING, is_list_mail=True)
        if list_name:
            waiting = waiting.filter(list_name__in=(list_name, ""))
        # Several recipients: the others still get theirs, this one is left out when it is sent.
        alone = waiting.alias(first=first_address()).filter(first=key, recipients__1__isnull=True)
        ids = list(alone.order_by("pk").select_for_update().values_list("pk", flat=True))
        return EmailJob.objects.filter(pk__in=ids).update(
            status=EmailStatus.CANCELLED, outcome=EmailOutcome.SUPPRESSED, next_retry_at=None
        )


def entries_of(addresses: Iterable[str]) -> Entries:
    """Return the entries in force for envelope addresses, by their suppressed form."""
    keys = {suppression_key(address) for address in addresses}
    if not keys:
        return {}
    found: dict[str, list[Entry]] = {}
    rows = fetch("suppressions", addresses=sorted(keys), now=clock.frozen_at())
    for address, reason, scope, list_name in rows:
        entry = Entry(reason=reason, scope=scope, list_name=list_name)
        found.setdefault(address, []).append(entry)
    return found


def stopped_by(entries: Entries, address: str, *, is_list_mail: bool, list_name: str) -> str | None:
    """Return the reason for which an envelope address does not get a mail; None: it does."""
    for entry in entries.get(suppression_key(address), ()):
        if entry.stops(is_list_mail=is_list_mail, list_name=list_name):
            return entry.reason
    return None
