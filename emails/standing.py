"""
How delivery stands: the channel, throttled domains, the suppression list, dead letters by reason.

Pages, commands and tools call these functions and show the same field names.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Left
from django.utils import timezone

from emails import conf
from emails.addresses import normalise
from emails.channel import fingerprint
from emails.delivery import parse_delivery_url
from emails.models import EmailChannel, EmailDomain, EmailJob, EmailSuppression
from emails.reads import DEAD_LETTERS
from jobs.clock import Now
from jobs.reads.deadletters import reason_of
from jobs.reads.links import admin_url
from jobs.reads.paging import PAGE_LIMIT, Page, read_page

NOT_CONFIGURED, UP, PAUSED = "not configured", "up", "paused"
LOOKED_THROUGH = 1000
MOST_REASONS = 20
HEAD_LENGTH = 300


@dataclass(frozen=True, kw_only=True)
class ChannelItem:
    """The way out as it is configured here."""

    id: int | None  # None: it never failed
    state: str  # not configured, up, paused
    address: str  # the delivery URL without its password
    paused_at: dt.datetime | None
    next_try_at: dt.datetime | None
    failures: int  # in a row
    last_code: int | None
    last_error: str
    failed_at: dt.datetime | None  # also of a channel that is up again
    resumed_at: dt.datetime | None
    read_at: dt.datetime
    admin_url: str


@dataclass(frozen=True, kw_only=True)
class DomainItem:
    """A domain whose servers ask for patience."""

    id: int
    domain: str
    failures: int  # in a row
    throttled_at: dt.datetime
    next_allowed_at: dt.datetime
    last_code: int | None
    last_error: str
    read_at: dt.datetime
    admin_url: str


@dataclass(frozen=True, kw_only=True)
class SuppressionItem:
    """One entry of the suppression list."""

    id: int
    address: str
    reason: str
    scope: str  # everything, or lists
    list_name: str  # empty: every list
    until: dt.datetime | None  # None: for ever
    is_over: bool
    detail: str
    created_at: dt.datetime
    read_at: dt.datetime
    admin_url: str


@dataclass(frozen=True, kw_only=True)
class ReasonItem:
    """One kind of failure among the newest 1,000 dead letters."""

    text: str  # the first line of the error, without addresses and numbers
    count: int
    newest_id: int
    admin_url: str  # of the newest one


def get_channel() -> ChannelItem:
    """Return the state of the channel that is configured in this process."""
    url = conf.DELIVERY_URL.get()
    if not url:
        unset = EmailChannel(pk=None, address="", failures=0)
        return _channel(unset, NOT_CONFIGURED, timezone.now())
    parsed = parse_delivery_url(url)
    row = channel_rows().filter(fingerprint=fingerprint(parsed)).first()
    if row is None:  # it has no times that the database's clock would have to be asked for
        return _channel(
            EmailChannel(pk=None, address=parsed.masked, failures=0), UP, timezone.now()
        )
    return channel_item(row)


def channel_rows() -> QuerySet[EmailChannel]:
    """Return the rows of every delivery that has failed once, such as of an earlier relay."""
    return EmailChannel.objects.annotate(read_at=Now())


def channel_item(row: Any) -> ChannelItem:
    """Return a row of ``channel_rows`` as a value."""
    return _channel(row, PAUSED if row.paused_at else UP, row.read_at)


def count_domains() -> int:
    """Return how many domains are held back."""
    return EmailDomain.objects.filter(next_allowed_at__gt=Now()).count()


def list_domains(*, limit: int = PAGE_LIMIT, before_id: int | None = None) -> Page[DomainItem]:
    """Return the domains that are held back, newest first."""
    return read_page(domain_rows(), domain_item, limit=limit, before_id=before_id)


def domain_rows() -> QuerySet[EmailDomain]:
    """Return the rows of lists of domains."""
    return EmailDomain.objects.annotate(read_at=Now())


def domain_item(row: Any) -> DomainItem:
    """Return a row of ``domain_rows`` as a value."""
    names = (
        "id", "domain", "failures", "throttled_at", "next_allowed_at", "last_code", "last_error",
        "read_at",
    )  # fmt: skip
    url = admin_url(EmailDomain, row.pk)
    return DomainItem(**{name: getattr(row, name) for name in names}, admin_url=url)


def list_suppressions(
    *, address: str = "", reason: str = "", limit: int = PAGE_LIMIT, before_id: int | None = None
) -> Page[SuppressionItem]:
    """Return entries, newest first; ``address`` in any spelling. Raises InvalidAddress."""
    rows = suppression_rows()
    if address:
        rows = rows.filter(address=normalise(address))
    if reason:
        rows = rows.filter(reason=reason)
    return read_page(rows, suppression_item, limit=limit, before_id=before_id)


def get_suppression(entry_id: int) -> SuppressionItem | None:
    """Return one entry; None when there is none of that id."""
    row = suppression_rows().filter(pk=entry_id).first()
    return None if row is None else suppression_item(row)


def suppression_rows() -> QuerySet[EmailSuppression]:
    """Return the rows of lists of entries."""
    return EmailSuppression.objects.annotate(read_at=Now())


def suppression_item(row: Any) -> SuppressionItem:
    """Return a row of ``suppression_rows`` as a value."""
    names = (
        "id", "address", "reason", "scope", "list_name", "until", "detail", "created_at", "read_at",
    )  # fmt: skip
    return SuppressionItem(
        **{name: getattr(row, name) for name in names},
        is_over=row.until is not None and row.until <= row.read_at,
        admin_url=admin_url(EmailSuppression, row.pk),
    )


def dead_letter_reasons(rows: Q = DEAD_LETTERS) -> tuple[ReasonItem, ...]:
    """Return the kinds of failure of the newest dead letters, the most frequent first."""
    heads = (
        EmailJob.objects.filter(rows).order_by("-pk").annotate(head=Left("last_error", HEAD_LENGTH))
    )
    found = list(heads.values_list("pk", "head")[:LOOKED_THROUGH])
    counted = Counter(reason_of(head) for _, head in found)
    newest = {reason_of(head): row_id for row_id, head in reversed(found)}
    return tuple(
        ReasonItem(
            text=text,
            count=count,
            newest_id=newest[text],
            admin_url=admin_url(EmailJob, newest[text]),
        )
        for text, count in counted.most_common(MOST_REASONS)
    )


def _channel(row: EmailChannel, state: str, now: dt.datetime) -> ChannelItem:
    names = ("address", "paused_at", "next_try_at", "failed_at", "resumed_at", "failures")
    return ChannelItem(
        **{name: getattr(row, name) for name in names},
        id=row.pk,
        state=state,
        last_code=row.last_code,
        last_error=row.last_error if row.pk else "",
        read_at=now,
        admin_url=admin_url(EmailChannel, row.pk) if row.pk else "",
    )
